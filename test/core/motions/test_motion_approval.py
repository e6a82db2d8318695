# SPDX-License-Identifier: Apache-2.0
"""Requests of an assistant survive their message; no other text is one, and no other answer permits it."""

import json

import pytest

from hexapod_control.core.motions.motion_approval import MAX_TEXT, VALUES, MotionRequest, answer_text

EXAMPLE = {float: -0.25, str: "bow"}
REQUESTS = [
    MotionRequest("3f9a", motion, {name: EXAMPLE[kind] for name, kind in values.items()})
    for motion, values in VALUES.items()
]


@pytest.mark.parametrize("request_", REQUESTS, ids=VALUES)
def test_a_request_survives_its_message_and_only_its_own_answer_counts(request_):
    assert MotionRequest.parse(request_.text) == request_
    for allowed in (True, False):
        assert request_.answer(answer_text(request_.id, allowed=allowed)) is allowed
        assert request_.answer(answer_text("3f9b", allowed=allowed)) is None
    for text in ("", "yes", "3f9a", "3f9a maybe", "3f9a yes please", "3f9ayes"):
        assert request_.answer(text) is None


@pytest.mark.parametrize(
    "change",
    [
        {"id": ""},
        {"id": "a" * (MAX_TEXT + 1)},
        {"id": "a\u2028b"},
        {"motion": "jump"},
        {"motion": ["walk"]},
        {"values": {"forward": 1.0}},
        {"values": {"forward": 1.0, "left": "0"}},
        {"values": {"forward": 1.0, "left": True}},
        {"values": {"forward": 1.0, "left": 1e999}},
        {"values": []},
        {"more": 1},
    ],
)
def test_what_is_no_request_is_none(change):
    request = json.loads(REQUESTS[0].text)
    assert MotionRequest.parse(json.dumps(request)) == REQUESTS[0]
    assert MotionRequest.parse(json.dumps(request | change)) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 10_000])
def test_what_is_no_json_object_is_no_request(text):
    assert MotionRequest.parse(text) is None
