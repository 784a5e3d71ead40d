"""Data files of format `row`: their bytes, every type, access by position, and damage."""

import random
import struct
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.data_format import FileSelection, FileSettings
from maintenance.format.data_formats import DATA_FORMATS, open_data_file
from maintenance.options.model import TableModel
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField
from maintenance.types.type_text import parse_data_type
from tests.data_files import comparable, opened, table_of, written
from tests.examples import examples

SMALL_BLOCKS = FileSettings("row", options=TableModel({"file.block-size": "1 kb"}))


def fields_of(*types: str) -> list[DataField]:
    return [DataField(number, f"c{number}", parse_data_type(text)) for number, text in enumerate(types)]


def table(fields: list[DataField], *columns: Any) -> pa.Table:
    arrays = [pa.array(values, arrow_type(field.type)) for field, values in zip(fields, columns, strict=True)]
    return pa.table(arrays, names=[field.name for field in fields])


def test_the_bytes_of_a_file_are_those_of_the_specification() -> None:
    fields = fields_of(
        "INT",
        "STRING",
        "ARRAY<SMALLINT>",
        "DECIMAL(38, 2)",
        "TIMESTAMP(6)",
        "BOOLEAN",
        "BIGINT",
        "DATE",
        "MAP<STRING, INT>",
    )
    rows = table(
        fields,
        [1, None],
        ["é", None],
        [[1, None, -1], []],
        [Decimal("-1.28"), None],
        [-1, None],
        [True, None],
        [2**40, -2],
        [3, None],
        [[("k", None)], None],
    )  # fmt: skip
    first = b"".join(
        (
            b"\x00\x00",  # nothing is null
            struct.pack("<i", 1),
            b"\x02\xc3\xa9",
            b"\x03\x02" + struct.pack("<hh", 1, -1),  # the second of three is null
            b"\x01\x80",
            struct.pack("<q", -1) + b"\xd8\xfc\x3c",  # 999,000 nanoseconds behind the millisecond -1
            b"\x01",
            struct.pack("<q", 2**40),
            struct.pack("<i", 3),
            b"\x01\x00\x01k" + b"\x01\x01",  # keys, then values
        )
    )
    second = b"\xbb\x01" + b"\x00" + struct.pack("<q", -2)
    plain = first + second + struct.pack("<iii", 0, len(first), 2)
    content = written(rows, fields, FileSettings("row"))
    block = zstandard.ZstdCompressor(level=1).compress(plain)
    assert zstandard.ZstdDecompressor().decompressobj().decompress(content) == plain
    size = len(content) - 32 - struct.unpack("<i", content[-12:-8])[0]
    lists = (_varint(size << 1), _varint(len(plain) << 1), b"\x00")
    index = b"".join(bytes([len(part)]) + part for part in lists)
    assert content[size:] == index + struct.pack("<qiqib3xI", 2, 1, size, len(index), 1, 0x524F5753)
    assert size == len(block)
    assert comparable(opened(content, "row", fields).read(fields)) == comparable(rows)


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80, number >> 7])


def file_of(plain: bytes, rows: int) -> bytes:
    """A file of one block."""
    block = zstandard.ZstdCompressor().compress(plain)
    index = b"".join(
        bytes([len(part)]) + part for part in (_varint(len(block) << 1), _varint(len(plain) << 1), b"\x00")
    )
    return block + index + struct.pack("<qiqib3xI", rows, 1, len(block), len(index), 1, 0x524F5753)


def test_a_block_ends_with_the_row_that_fills_it() -> None:
    """64 KB with the four bytes that say where a row begins, whatever pieces the rows come in."""
    fields = fields_of("BIGINT NOT NULL")
    rows = table(fields, range(20_000))
    for pieces in (1, 7):
        reader = open_data_file(
            pa.BufferReader(written(rows, fields, FileSettings("row"), pieces)), "f.row", {}, fields
        )
        full = -(-(65_536 - 4) // (1 + 8 + 4))
        assert reader.index.row_starts.tolist() == [*range(0, 20_000, full), 20_000]  # type: ignore[attr-defined]


VECTOR = [[1.5, -2.0, 0.0], None, [float("inf"), 3.0, -0.0]]
OTHERS: dict[str, list[Any]] = {
    "VECTOR<FLOAT, 3>": VECTOR,
    "VECTOR<TINYINT, 2>": [[1, -128], None, [127, 0]],
    "VARIANT": [{"value": b"\x0c\x01", "metadata": b"\x01\x00\x00"}, None, {"value": b"", "metadata": b"\x01"}],
    "BLOB": [b"x" * 300, None, b""],
    "ARRAY<BLOB>": [[b"a", None, b"b" * 200], None, []],
    "MAP<INT, BLOB>": [[(1, b"a"), (2, None)], None, []],
    "ARRAY<ARRAY<STRING>>": [[["a", None], None, ["b" * 200]], None, []],
    "ROW<a INT, b ROW<c STRING, d ARRAY<ROW<e TIMESTAMP(9)>>>>": [
        {"a": 1, "b": {"c": "x", "d": [{"e": None}, None]}}, None, {"a": None, "b": None},
    ],
}  # fmt: skip


@pytest.mark.parametrize("text", OTHERS)
def test_types_of_all_kinds(text: str) -> None:
    fields = fields_of("INT", text, "STRING")
    rows = table(fields, [1, 2, 3], OTHERS[text], ["behind", None, "it"])
    content = written(rows, fields, FileSettings("row"))
    assert comparable(opened(content, "row", fields).read(fields)) == comparable(rows)
    assert opened(content, "row", fields).read(fields[2:]).column(0).to_pylist() == ["behind", None, "it"]
    chosen = FileSelection(rows=np.array([1, 2]))
    assert comparable(opened(content, "row", fields).read(fields, chosen)) == comparable(rows.slice(1))


@given(st.lists(st.none() | st.lists(st.none() | st.text(max_size=3), max_size=400), min_size=1, max_size=4), st.data())
@settings(max_examples=examples(20))
def test_lists_of_hundreds_of_elements_read_back(lists: list[Any], data: st.DataObject) -> None:
    """Elements of other sizes in lists of hundreds, nulls among them, and null lists between them."""
    fields = fields_of("ARRAY<STRING>", "MAP<STRING, ARRAY<STRING>>", "INT")
    long = [
        None if values is None else [*values, *(["tail", None] * data.draw(st.integers(0, 300)))] for values in lists
    ]
    maps = [None if values is None else [(str(n), [text]) for n, text in enumerate(values)] for values in long]
    rows = table(fields, long, maps, range(len(lists)))
    content = written(rows, fields, FileSettings("row"))
    assert comparable(opened(content, "row", fields).read(fields)) == comparable(rows)


class Counting(pa.BufferReader):  # type: ignore[misc]  # Arrow has no types
    """A file that says which parts of it were read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.read_bytes = 0

    def read_at(self, nbytes: int, offset: int) -> bytes:
        self.read_bytes += nbytes
        return super().read_at(nbytes, offset)


def test_rows_are_found_by_their_numbers() -> None:
    """Of a file of many blocks only those with wanted rows are read, and only wanted rows come out of them."""
    fields = fields_of("INT", "STRING")
    texts = [f"{random.Random(number).getrandbits(400):x}" for number in range(100_000)]
    rows = table(fields, range(100_000), texts)
    content = written(rows, fields, FileSettings("row"))
    wanted = np.array([0, 3, 50_000, 50_001, 99_999])
    source = Counting(content)
    reader = open_data_file(source, "f.row", {}, fields)
    actual = reader.read(fields, FileSelection(rows=wanted))
    assert comparable(actual) == comparable(rows.take(pa.array(wanted)))
    assert reader.positions(FileSelection(rows=wanted)) is wanted
    assert source.read_bytes < len(content) / 20
    batches = list(reader.batches(fields, 2, FileSelection(rows=wanted)))
    assert max(batch.num_rows for batch in batches) <= 2
    assert comparable(pa.concat_tables(batches)) == comparable(actual)


def test_what_row_files_do_not_have() -> None:
    fields = fields_of("INT")
    for codec in ("none", "lz4"):
        with pytest.raises(UnsupportedError, match=f"compression '{codec}' of row files"):
            DATA_FORMATS["row"].prepare_writer(fields, FileSettings("row", codec))
    with pytest.raises(UnsupportedError, match=r"row\.x"):
        DATA_FORMATS["row"].prepare_writer(fields, FileSettings("row", options=TableModel({"row.x": "1"})))
    vectors = fields_of("VECTOR<FLOAT, 2>")
    with pytest.raises(UnsupportedError, match="null inside a VECTOR"):
        written(table(vectors, [[1.0, None]]), vectors, FileSettings("row"))


def test_null_keys_of_maps_are_refused_by_name() -> None:
    """Java writes them; Arrow has none."""
    fields = fields_of("MAP<STRING, INT>")
    plain = b"\x00" + b"\x01\x01" + b"\x01\x00" + struct.pack("<i", 7) + struct.pack("<ii", 0, 1)
    with pytest.raises(UnsupportedError, match=r"null key.*f\.row"):
        open_data_file(pa.BufferReader(file_of(plain, 1)), "f.row", {}, fields).read(fields)


def test_rows_of_other_columns_are_an_error() -> None:
    """The file does not say its columns: a length that does not fit shows that these are others."""
    fields = fields_of("INT", "STRING")
    content = written(table_of(fields, [(n, f"t{n}") for n in range(9)]), fields, FileSettings("row"))
    for others in (fields_of("INT"), fields_of("BIGINT", "STRING"), fields_of("INT", "STRING", "INT")):
        with pytest.raises(CorruptFileError, match=r"f\.row"):
            open_data_file(pa.BufferReader(content), "f.row", {}, others).read(others)


@given(st.data())
@settings(max_examples=examples(60))
def test_damage_is_an_error_or_nothing(data: st.DataObject) -> None:
    """Any bytes in the place of a block's: whatever they make of the rows, it is no other exception, and it ends."""
    fields = fields_of(
        "INT", "ARRAY<STRING>", "MAP<INT, ARRAY<INT>>", "ROW<a STRING, b DECIMAL(30, 2)>", "TIMESTAMP(9)"
    )
    row = (1, ["a", None, "b" * 90], [(1, [2, None])], {"a": "x", "b": Decimal("12.50")}, 10**18)
    plain = bytearray(
        zstandard.ZstdDecompressor().decompress(written(table_of(fields, [row] * 3), fields, FileSettings("row")))
    )
    for _ in range(data.draw(st.integers(1, 4))):
        plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(st.integers(0, 255))
    reader = open_data_file(pa.BufferReader(file_of(bytes(plain), 3)), "f.row", {}, fields)
    with suppress(CorruptFileError, UnsupportedError):
        assert reader.read(fields).num_rows == 3
