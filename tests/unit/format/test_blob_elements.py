"""Lists and maps of blobs as one value of a file; `tests/pypaimon` reads and writes them with pypaimon."""

import pyarrow as pa
import pytest

from maintenance.errors import CorruptFileError, DataError, UnsupportedError
from maintenance.format.blob_elements import array_of_elements, parse_elements, payloads
from maintenance.types.type_text import parse_data_type

ARRAY, MAP = parse_data_type("ARRAY<BLOB>"), parse_data_type("MAP<STRING, BLOB>")
LIST = pa.list_(pa.large_binary())
KEYED = pa.map_(pa.string(), pa.large_binary())
# Made by hand: magic number, version, count; keys; blobs; lengths as zigzag differences; bytes of the lists.
TWO = b"BCBA\x01\x03\0\0\0" + b"abc" + b"\x06\x07\x02" + b"\x03\0\0\0"
ONE_OF_KEY = b"BCBM\x01\x01\0\0\0" + b"key" + b"ab" + b"\x06" + b"\x04" + b"\x01\0\0\0\x01\0\0\0"


def parsed(content: bytes, text: str) -> list[object]:
    data_type = parse_data_type(text)
    elements = parse_elements(lambda start, size: content[start : start + size], len(content), data_type, "f.blob")
    blobs = [None if place is None else content[place[0] : sum(place)] for place in elements.places]
    return list(array_of_elements([None, elements], blobs, data_type, "f.blob").to_pylist())


def test_the_form_of_values() -> None:
    (stored,) = payloads(pa.array([[b"abc", None, b""]], LIST), ARRAY, "t").to_pylist()
    assert stored == TWO
    (keyed,) = payloads(pa.array([[("key", b"ab")]], KEYED), MAP, "t").to_pylist()
    assert keyed == ONE_OF_KEY
    assert parsed(TWO, "ARRAY<BLOB>") == [None, [b"abc", None, b""]]
    assert parsed(ONE_OF_KEY, "MAP<STRING, BLOB>") == [None, [("key", b"ab")]]


@pytest.mark.parametrize(("content", "text"), [(TWO, "ARRAY<BLOB>"), (ONE_OF_KEY, "MAP<STRING, BLOB>")])
def test_damage_of_all_but_keys_and_blobs_is_found(content: bytes, text: str) -> None:
    """Of each byte but those of keys and blobs themselves."""
    for at in (*range(9), *range(-len(content) + 9 + (3 if content is TWO else 5), 0)):
        damaged = bytearray(content)
        damaged[at] ^= 0x55
        with pytest.raises(CorruptFileError, match=r"f\.blob"):
            parsed(bytes(damaged), text)
    for length in (0, 5, 12, len(content) - 1):
        with pytest.raises(CorruptFileError):
            parsed(content[:length], text)
    with pytest.raises(CorruptFileError):
        parsed(content, "MAP<STRING, BLOB>" if content is TWO else "MAP<INT, BLOB>")


def test_a_null_key_and_a_key_twice_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="null key"):
        parsed(b"BCBM\x01\x01\0\0\0" + b"ab" + b"\x01" + b"\x04" + b"\x01\0\0\0\x01\0\0\0", "MAP<STRING, BLOB>")
    with pytest.raises(DataError, match="a key twice"):
        payloads(pa.array([[("k", b"a"), ("k", None)]], KEYED), MAP, "t")
