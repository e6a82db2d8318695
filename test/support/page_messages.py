"""Messages as a client of the page may send them: correct ones, wrong values, and other text."""

import json
import math

from hypothesis import strategies as st

from hexapod_control.web import protocol

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
        lambda kind, sequence, fields: json.dumps({"v": 1, "n": sequence, "t": kind, **fields}),
        st.sampled_from(list(protocol.KINDS)),
        st.integers(0, 50) | JSON,
        st.dictionaries(st.sampled_from(FIELDS), st.sampled_from(VALUES) | JSON, max_size=4),
    ),
)
