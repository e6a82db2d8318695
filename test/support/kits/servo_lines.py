# SPDX-License-Identifier: Apache-2.0
"""Lines of the SSC-32 protocol, valid and invalid, and a strategy that mixes, splits and breaks them."""

from hypothesis import strategies as st

GROUP = b"".join(b"#%dP1500" % i for i in range(18)) + b"T20\r"  # golden
LINES = [
    GROUP,
    b"#5P1600\r",
    b"#5P1600#5P1700\r",
    b"#5 P1600 S750\r",
    b"# 5p1600s750t100\r\n",
    b"#5P0\r",
    b"#5P1\r",
    b"#17P9999T65535\r",
    b"#17P1500T65536\r",
    b"#18P1500\r",
    b"#5P1600T\r",
    b"#5P1600T5#6P1500\r",
    b"#5P-1600\r",
    b"#5P160000\r",
    b"#000005P1500\r",
    b"#00005P1500\r",
    b"#5P1500#5P1600S1\r",
    b"#5P16 00\r",
    b"#5L#6L\r",
    b"#5L#6P1500\r",
    b"STOP5\r",
    b"STOP\r",
    b"STOP18\r",
    b"Q\r",
    b"QQ\r",
    b"QP0QP17\r",
    b"QP18\r",
    b"VAVBVH\r",
    b"VI\r",
    b"\r",
    b"#5P15\x1bQ\r",
    b"#5P15\x00Q\r",
    b"#5P1500",
    b"#" * 700 + b"\r",
    b" " * 700 + b"Q\r",
    b"QP1" * 153 + b"\r",
    b"QP1" * 154 + b"\r",
    b"VA" * 230 + b"\r",
]

_tokens = st.sampled_from([*b"# P S T L Q QP V A STOP 0 5 17 1500".split(), b"\r", b"\x1b", b" ", b"\n"])
_piece = st.one_of(st.sampled_from(LINES), _tokens, st.binary(max_size=4))


@st.composite
def _split(draw):
    data = b"".join(draw(st.lists(_piece, max_size=25)))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=6)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


ssc32_bytes = _split()
"""Bytes as a board may receive them: complete lines, broken ones and noise, cut into pieces."""
