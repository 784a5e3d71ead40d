"""Byte strings in one array are joined as they are one by one."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.format.bytes.ragged import Ragged, ends, interleaved
from tests.examples import examples


@st.composite
def columns(draw: st.DrawFn) -> list[list[bytes]]:
    """Strings of one length, of even ones, of any, and long ones."""
    count = draw(st.integers(1, 6))
    lengths = st.sampled_from(
        [
            st.just(draw(st.integers(0, 21))),
            st.integers(0, 4).map(lambda half: 2 * half),
            st.integers(0, 9),
            st.just(300),
        ]
    )
    made = []
    for _ in range(draw(st.integers(1, 4))):
        length = draw(lengths)
        made.append([draw(st.binary(min_size=size, max_size=size)) for size in draw(st.tuples(*[length] * count))])
    return made


def ragged(strings: list[bytes], before: bytes) -> Ragged:
    """`before`: bytes of nobody in front of the first string."""
    data = np.frombuffer(before + b"".join(strings), np.uint8)
    return Ragged(data, len(before) + ends(np.array([len(one) for one in strings])))


@settings(max_examples=examples(200))
@given(columns(), st.binary(max_size=3))
def test_parts_are_joined_string_by_string(parts: list[list[bytes]], before: bytes) -> None:
    joined = interleaved(*(ragged(strings, before) for strings in parts))
    whole = [b"".join(strings) for strings in zip(*parts, strict=True)]
    assert [joined[number] for number in range(len(joined))] == whole
    assert joined.tobytes() == b"".join(whole)
