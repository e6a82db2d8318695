# SPDX-License-Identifier: Apache-2.0
"""Messages as a client of the page may send them: correct ones, wrong values, other text; and texts in German."""

import json
import math

from hypothesis import strategies as st

from hexapod_control.config.sentence import TEXTS
from hexapod_control.core.refusal import Statement
from hexapod_control.web import protocol
from hexapod_control.web.dialog_pages.request_server import PAGES

TOKEN = "a token of sixteen or more"
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
FIELDS = sorted({name for _, checks in protocol.KINDS.values() for name in checks})
VALUES = [
    *protocol.REQUESTS,
    *protocol.CONTROL_ACTS,
    *protocol.QUERIES,
    TOKEN,
    True,
    False,
    0,
    1,
    2,
    0.5,
    -1.0,
    math.nan,
]
MESSAGES = st.one_of(
    st.text(max_size=60),
    JSON.map(json.dumps),
    st.builds(
        lambda kind, sequence, fields: json.dumps({"v": 2, "n": sequence, "t": kind, **fields}),
        st.sampled_from(list(protocol.KINDS)),
        st.integers(0, 50) | JSON,
        st.dictionaries(st.sampled_from(FIELDS), st.sampled_from(VALUES) | JSON, max_size=4),
    ),
)


def german(page):
    """The German table of a page."""
    return json.loads((PAGES / page / "texts" / "de.json").read_text())


def not_in_german(page, said):
    """Names and kinds of sentences, also of those in sentences, that a page does not know in German."""
    table = {**TEXTS["de"], **german(page)}
    return [kind for each in said for kind in _kinds(each) if kind not in table]


def _kinds(said):
    if isinstance(said, str):
        return [said]
    return [
        said.kind,
        *(kind for value in said.values.values() if isinstance(value, Statement) for kind in _kinds(value)),
    ]
