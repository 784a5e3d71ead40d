"""Files of blobs, read whole and in batches; `tests/golden` has one of Paimon itself."""

import zlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from maintenance.errors import CorruptFileError
from maintenance.format.blob import open_blobs
from maintenance.format.bytes.varint import varint
from maintenance.format.data_format import FileSelection
from maintenance.format.data_formats import open_data_file
from maintenance.types.data_type import DataField, parse_type

FIELD = DataField(2, "b", parse_type("BLOB"))
OTHER = -2  # the length that stands for a value of an older file


def file_of(values: Sequence[bytes | None], last: int | None = None) -> bytes:
    """A file of blobs. `last`: a length behind those of the values."""
    content, lengths = b"", []
    for value in values:
        if value is None:
            lengths.append(-1)
            continue
        size = len(value) + 16
        body = (1481511375).to_bytes(4, "little") + value + size.to_bytes(8, "little")
        content += body + zlib.crc32(body).to_bytes(4, "little")
        lengths.append(size)
    lengths += [] if last is None else [last]
    changes = [now - before for before, now in zip([0, *lengths], lengths, strict=False)]
    index = b"".join(varint(change * 2 if change >= 0 else -change * 2 - 1) for change in changes)
    return content + index + len(index).to_bytes(4, "little") + b"\x01"


@pytest.mark.parametrize("values", [[], [b""], [None], [b"a", None, b"x" * 300, b"", b"yz"]])
@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_values_are_read_whole_and_in_batches(values: list[bytes | None], batch_rows: int) -> None:
    reader = open_data_file(pa.BufferReader(file_of(values)), "f.blob", {})
    assert reader.read([FIELD]).column("b").to_pylist() == values
    batches = list(reader.batches([FIELD], batch_rows))
    assert [value for batch in batches for value in batch.column("b").to_pylist()] == values
    assert all(batch.num_rows <= batch_rows for batch in batches)


@pytest.mark.parametrize("position", [0, -1, -3, -7])
def test_damage_is_an_error_that_names_the_file(position: int) -> None:
    content = bytearray(file_of([b"abc", b"de"]))
    content[position] ^= 0x7F
    with pytest.raises(CorruptFileError, match=r"f\.blob"):
        open_data_file(pa.BufferReader(bytes(content)), "f.blob", {}).read([FIELD])


def test_values_of_older_files_are_placeholders() -> None:
    reader = open_blobs(pa.BufferReader(file_of([b"abc", None], OTHER)), "f.blob")
    assert reader.sizes.tolist() == [3, -1, -2]
    assert reader.read([FIELD]).column("b").to_pylist() == [b"abc", None, None]
    with pytest.raises(CorruptFileError, match="means nothing"):
        open_blobs(pa.BufferReader(file_of([b"abc"], -3)), "f.blob")


def test_some_values_are_read() -> None:
    values = [b"a", None, b"x" * 300, b"", b"yz"]
    reader = open_data_file(pa.BufferReader(file_of(values)), "f.blob", {})
    for rows in ([], [2], [1, 2, 4], [0, 1, 2, 3, 4], [1, 3]):
        selection = FileSelection(rows=np.array(rows, np.int64))
        actual = [reader.read([FIELD], selection), *reader.batches([FIELD], 2, selection)]
        expected = [values[row] for row in rows]
        assert actual[0].column("b").to_pylist() == expected
        assert [value for batch in actual[1:] for value in batch.column("b").to_pylist()] == expected
        positions = reader.positions(selection)
        assert positions is not None
        assert positions.tolist() == rows
