"""Messages as a client of the page may send them: correct ones, wrong values, other text; and texts in German."""

import json
import math
import re

from hypothesis import strategies as st

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


def not_in_german(page, texts):
    """Texts of a program that are missing in the German table of its page, also as a pattern with {1}."""
    table = german(page)
    rows = [re.sub(r"\\\{\d\\\}", "(.+?)", re.escape(key)) for key in table if "{1}" in key]
    return [text for text in texts if text not in table and not any(re.match(f"{row}$", text, re.S) for row in rows)]
