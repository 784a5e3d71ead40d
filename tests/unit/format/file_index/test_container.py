"""The container: Java's bytes, round trips, damage."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError
from maintenance.format.file_index.container import parse_container, serialize_container

# Written by Java: one body and one index that was given nothing; no columns; a whole one of a table.
JAVA = [
    (
        (
            "00054e4ed01a35ae0000000100000050000000020001610000000100066269746d6170000000500000000300056d705b6b5d00000001000c"
            "626c6f6f6d2d66696c746572ffffffff0000000000000000010203"
        ),
        {"a": {"bitmap": b"\x01\x02\x03"}, "mp[k]": {"bloom-filter": None}},
    ),
    ("00054e4ed01a35ae00000001000000180000000000000000", {}),
    (
        (
            "00054e4ed01a35ae000000010000004c0000000200017600000001000c626c6f6f6d2d66696c7465720000004c0000000a00016b00000001"
            "00066269746d617000000056000000360000000000000003882001404000020000000200000002000000000100000001000000000000001c"
            "0000000200000001ffffffffffffffff00000002fffffffeffffffff"
        ),
        {
            "v": {"bloom-filter": bytes.fromhex("00000003882001404000")},
            "k": {
                "bitmap": bytes.fromhex(
                    "020000000200000002000000000100000001000000000000001c0000000200000001ffffffffffffffff00000002fffffffe"
                    "ffffffff"
                )
            },
        },
    ),
]

names = st.text(st.characters(codec="utf-8") | st.sampled_from("\0é派\U0001f600"), max_size=6)
indexes = st.dictionaries(names, st.dictionaries(names, st.none() | st.binary(max_size=9), max_size=3), max_size=4)


@pytest.mark.parametrize(("text", "expected"), JAVA)
def test_containers_of_java_are_read_and_written_the_same(
    text: str, expected: dict[str, dict[str, bytes | None]]
) -> None:
    assert parse_container(bytes.fromhex(text), "memory") == expected
    assert serialize_container(expected).hex() == text


def test_names_are_modified_utf_8() -> None:
    data = serialize_container({"\0\U0001f600": {}})
    assert bytes.fromhex("0008c080eda0bdedb880") in data
    assert parse_container(data, "memory") == {"\0\U0001f600": {}}


@settings(deadline=None)
@given(indexes, st.data())
def test_round_trip_and_damage(found: dict[str, dict[str, bytes | None]], data: st.DataObject) -> None:
    container = serialize_container(found)
    parsed = parse_container(container, "memory")
    assert parsed == found
    assert [(name, list(kinds)) for name, kinds in parsed.items()] == [(n, list(kinds)) for n, kinds in found.items()]
    with pytest.raises(CorruptFileError, match="memory"):
        parse_container(container[: data.draw(st.integers(0, len(container) - 1))], "memory")
    damaged, bit = bytearray(container), data.draw(st.integers(0, 8 * 16 - 1))
    damaged[bit // 8] ^= 1 << bit % 8  # magic, version, length of the head
    with pytest.raises(CorruptFileError, match="memory"):
        parse_container(bytes(damaged), "memory")


@settings(deadline=None)
@given(indexes, st.data())
def test_any_damage_is_reported_as_such_or_harmless(
    found: dict[str, dict[str, bytes | None]], data: st.DataObject
) -> None:
    damaged = bytearray(serialize_container(found))
    for _ in range(3):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        parsed = parse_container(bytes(damaged), "memory")
    except CorruptFileError:
        return
    assert all(body is None or body in damaged for kinds in parsed.values() for body in kinds.values())


def test_bytes_for_later_versions_are_skipped() -> None:
    data = bytearray(serialize_container({}))
    data[12:16], data[20:24] = (27).to_bytes(4, "big"), (3).to_bytes(4, "big")
    assert parse_container(bytes(data) + b"new", "memory") == {}
