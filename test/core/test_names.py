# SPDX-License-Identifier: Apache-2.0
"""Names: how messages enumerate them."""

import pytest

from hexapod_control.core.names import enumerated


@pytest.mark.parametrize(
    ("words", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c", "d"], "a, b, c and d")]
)
def test_words_are_enumerated_as_in_a_sentence(words, text):
    assert enumerated(iter(words)) == text
