"""polars decodes of a file only the rows that a filter selects, and they are those that pyarrow decodes."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.errors import PredicateError
from maintenance.format.data_format import FileSelection, RowFilter
from maintenance.format.parquet.prefiltered import is_prefiltered, matching_rows, stored_schema
from maintenance.format.parquet.reader import PARQUET
from maintenance.types.data_type import DataField
from maintenance.types.type_text import parse_data_type
from tests.examples import examples

KINDS: Mapping[str, tuple[pa.DataType, Any]] = {
    "BOOLEAN": (pa.bool_(), [True, False]),
    "TINYINT": (pa.int8(), [-128, 0, 127]),
    "INT": (pa.int32(), [-(2**31), 0, 7, 2**31 - 1]),
    "BIGINT": (pa.int64(), [-(2**63), 0, 7, 2**63 - 1]),
    "FLOAT": (pa.float32(), [float("nan"), -0.0, 0.0, 1.5]),
    "DOUBLE": (pa.float64(), [float("nan"), -0.0, 0.0, float("inf")]),
    "DECIMAL(9, 2)": (pa.decimal128(9, 2), [Decimal("-1.25"), Decimal("9999999.99")]),
    "DECIMAL(38, 3)": (pa.decimal128(38, 3), [Decimal("-1.125"), Decimal("99999999999999999999999999999999999.999")]),
    "STRING": (pa.string(), ["", "a", "ä€", "long enough not to stand inside of a view"]),
    "BYTES": (pa.binary(), [b"", b"\xff\x00", b"b" * 40]),
    "DATE": (pa.date32(), [-719528, 0, 20000]),
    "TIMESTAMP(3)": (pa.timestamp("ms"), [-1, 0, 10**12]),
    "TIMESTAMP(6)": (pa.timestamp("us"), [-1, 0, 10**15]),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": (pa.timestamp("us", "UTC"), [-1, 0, 10**15]),
}
FIELDS = [DataField(number, f"c{number}", parse_data_type(text)) for number, text in enumerate(KINDS)]
NAMES = [field.name for field in FIELDS]
Mask = Callable[[pa.Table], np.ndarray]
ENCODINGS: Sequence[Mapping[str, Any]] = [
    {},
    {"data_page_version": "2.0"},
    {"use_dictionary": False},
    {
        "use_dictionary": False,
        "column_encoding": {
            "c2": "DELTA_BINARY_PACKED",
            "c3": "DELTA_BINARY_PACKED",
            "c5": "BYTE_STREAM_SPLIT",
            "c8": "DELTA_BYTE_ARRAY",
            "c9": "DELTA_LENGTH_BYTE_ARRAY",
        },
    },
]


def made_rows(seed: int, count: int, nulls: float, wanted: float) -> pa.Table:
    """Rows of which those with a 1 in `keep` are wanted."""
    random = np.random.default_rng(seed)
    columns = {}
    for name, (kind, values) in zip(NAMES, KINDS.values(), strict=True):
        places = pa.array(random.integers(0, len(values), count), mask=random.random(count) < nulls)
        columns[name] = pa.array(values, kind).take(places)
    return pa.table({**columns, "keep": (random.random(count) < wanted).astype(np.int8)})


def kept(rows: pa.Table) -> np.ndarray:
    return np.asarray(rows.column("keep").to_numpy() == 1)


def bits(rows: pa.Table) -> pa.Table:
    """With floats as they are stored: NaN is not equal to itself, and -0.0 is to 0.0."""
    for number, column in enumerate(rows.columns):
        if pa.types.is_floating(column.type):
            stored = pa.int32() if pa.types.is_float32(column.type) else pa.int64()
            chunks = [chunk.view(stored) for chunk in column.chunks]
            rows = rows.set_column(number, rows.column_names[number], pa.chunked_array(chunks, stored))
    return rows


def found(data: bytes, schema: pa.Schema, names: list[str], telling: list[str], mask: Mask) -> pa.Table:
    tables = matching_rows(data, schema, names, telling, mask, 1000)
    assert tables is not None
    parts = list(tables)
    assert all(part.num_rows <= 1000 for part in parts)
    kinds = [schema.field(name).type for name in names]
    return pa.concat_tables([pa.schema(zip(names, kinds, strict=True)).empty_table(), *parts])


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 3000),
    nulls=st.sampled_from([0.0, 0.1, 0.9, 1.0]),
    wanted=st.sampled_from([0.0, 0.01, 0.5, 0.99, 1.0]),
    encoding=st.sampled_from(ENCODINGS),
    group=st.sampled_from([100, 1024, 4000]),
    telling=st.sets(st.sampled_from(NAMES)),
)
def test_rows_are_those_of_pyarrow(
    seed: int,
    count: int,
    nulls: float,
    wanted: float,
    encoding: Mapping[str, Any],
    group: int,
    telling: set[str],
) -> None:
    rows = made_rows(seed, count, nulls, wanted)
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, row_group_size=group, data_page_size=500, compression="zstd", **encoding)
    data = sink.getvalue().to_pybytes()
    reader = pq.ParquetFile(pa.BufferReader(data), read_dictionary=["c8"])
    names, told_by = [*reversed(NAMES), "keep"], ["keep", *sorted(telling)]
    assert is_prefiltered(reader, names, 0)

    def mask(part: pa.Table) -> np.ndarray:
        """By all values that tell: of each other column, whether the value is the first one of its kind."""
        assert part.column_names == told_by
        chosen = kept(part)
        for name in told_by[1:]:
            first = bits(rows.select([name]).slice(0, 1)).column(0)[0]
            chosen = chosen | np.array([value == first for value in bits(part.select([name])).column(0)], bool)
        return np.asarray(chosen)

    actual = found(data, stored_schema(reader), names, told_by, mask)
    assert bits(actual).equals(bits(rows.filter(pa.array(mask(rows.select(told_by)))).select(names)))


@pytest.mark.parametrize("kind", [pa.int8(), pa.float32(), pa.float64()])
def test_bounds_are_not_taken_for_values(kind: pa.DataType) -> None:
    """The filter judges every value, and no bounds of a row group: NaN lies outside of them."""
    values = [0.0, -0.0, float("nan")] if pa.types.is_floating(kind) else [0]
    rows = pa.table({"a": pa.array(np.resize(values, 100), kind), "b": np.arange(100)})
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, use_dictionary=False)
    seen: list[pa.Table] = []

    def mask(part: pa.Table) -> np.ndarray:
        seen.append(bits(part))
        return np.ones(part.num_rows, bool)

    actual = found(sink.getvalue().to_pybytes(), rows.schema, ["a", "b"], ["a"], mask)
    assert bits(actual).equals(bits(rows))
    # What null would be is asked, too.
    assert pa.concat_tables(seen).drop_null().combine_chunks().equals(bits(rows.select(["a"])))


def read_filtered(path: Path, monkeypatch: pytest.MonkeyPatch, mask: Mask) -> pa.Table:
    """The rows that the reader of data files gives, which decodes none of them itself."""

    def decoded(*_: object) -> None:
        raise AssertionError("pyarrow decodes the file")

    fields = [*FIELDS, DataField(len(FIELDS), "keep", parse_data_type("TINYINT"))]
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", decoded)
    with pa.OSFile(str(path)) as source:
        reader = PARQUET.open_reader(source, str(path), {})
        matching = RowFilter(frozenset({"keep"}), mask)
        return pa.concat_tables(list(reader.batches(fields, 1000, FileSelection(matching=matching))))


def test_the_reader_has_polars_decode_wanted_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = made_rows(1, 20_000, 0.1, 0.3)
    pq.write_table(rows, tmp_path / "rows.parquet", compression="zstd")
    actual = read_filtered(tmp_path / "rows.parquet", monkeypatch, kept)
    assert bits(actual).combine_chunks().equals(bits(rows.filter(pa.array(kept(rows)))).combine_chunks())


def test_what_polars_cannot_read_is_left_to_pyarrow(tmp_path: Path) -> None:
    rows = made_rows(1, 2000, 0.1, 0.3)
    pq.write_table(rows, tmp_path / "rows.parquet")
    data, schema = (tmp_path / "rows.parquet").read_bytes(), pq.read_schema(tmp_path / "rows.parquet")

    def refusing(_: pa.Table) -> np.ndarray:
        raise PredicateError("not these", "filter", "none")

    assert matching_rows(data, schema, NAMES, ["c0"], refusing, 100) is None
    assert matching_rows(data[:100] + data[200:], schema, NAMES, ["keep"], kept, 100) is None


@pytest.mark.parametrize("kind", [pa.list_(pa.int32()), pa.time32("ms"), pa.timestamp("ns"), pa.float16()])
def test_types_that_polars_has_otherwise_are_left_to_pyarrow(kind: pa.DataType) -> None:
    sink = pa.BufferOutputStream()
    values = [[1]] if pa.types.is_list(kind) else [0]
    pq.write_table(pa.table({"a": pa.array(values, kind), "b": [1]}), sink)
    assert not is_prefiltered(pq.ParquetFile(pa.BufferReader(sink.getvalue())), ["a", "b"], 0)


def test_columns_that_are_little_of_a_file_are_left_to_pyarrow() -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1] * 9, "b": [b"%d" % n * 99 for n in range(9)]}), sink, compression="none")
    reader = pq.ParquetFile(pa.BufferReader(sink.getvalue()))
    assert is_prefiltered(reader, ["a", "b"], 2000)
    assert not is_prefiltered(reader, ["a"], 2000)
