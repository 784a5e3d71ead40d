"""TIMESTAMP(7..9) of years that Arrow's nanoseconds do not reach, in whole tables, against Python's numbers."""

import datetime as dt
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.errors import DataError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.delete import delete
from maintenance.operations.rows.update import update
from maintenance.sql.session import Session
from maintenance.types.far_timestamps import FarTimestampType
from maintenance.types.nanos import array_of, fits_nanoseconds, in_nanoseconds
from maintenance.types.values import Value, values_of_arrow
from tests.examples import examples
from tests.tables import create_table, get_table

YEAR_1, YEAR_9999 = -62_135_596_800 * 10**9, 253_402_300_799 * 10**9
MOMENTS = st.integers(-(10**9), 10**9) | st.integers(YEAR_1, YEAR_9999) | st.sampled_from([2**63 - 1, 2**63, -(2**63)])
ROWS = st.dictionaries(MOMENTS, st.none() | MOMENTS, min_size=1, max_size=6)
FIELDS = [("k", "TIMESTAMP(9) NOT NULL"), ("v", "TIMESTAMP(9) WITH LOCAL TIME ZONE"), ("l", "ARRAY<TIMESTAMP(9)>")]


def moments(values: list[int | None], tz: str | None = None) -> pa.Array:
    """A column as a user has it: nanoseconds, or the type of this engine."""
    array = array_of(values)
    if fits_nanoseconds(array):
        return in_nanoseconds(array, tz)
    kind = FarTimestampType(tz)
    stored = [None if value is None else {"micros": value // 1000, "nanos": value % 1000} for value in values]
    return pa.ExtensionArray.from_storage(kind, pa.array(stored, kind.storage_type))


def rows_of(values: dict[int, int | None]) -> pa.Table:
    lists = pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), moments([*values]))
    return pa.table({"k": moments([*values]), "v": moments([*values.values()], "UTC"), "l": lists})


def found(table: CatalogTable, where: str | None = None) -> dict[Value, Value]:
    rows = table.to_arrow(where=where)
    keys, values = (values_of_arrow(rows.column(name)) for name in ("k", "v"))
    lists = [part for chunk in rows.column("l").chunks for part in values_of_arrow(chunk.flatten())]
    assert lists == keys
    return dict(zip(keys, values, strict=True))


def text(nanos: int) -> str:
    """The literal of a moment."""
    seconds, rest = divmod(nanos, 10**9)
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
    return f"TIMESTAMP '{moment.isoformat(' ')}.{rest:09d}'"


@given(ROWS, ROWS)
@settings(max_examples=examples(12))
def test_all_years_are_merged_filtered_compacted(first: dict[int, int | None], second: dict[int, int | None]) -> None:
    options = {"bucket": "1", "write-only": "true", "file-index.bloom-filter.columns": "v"}
    with TemporaryDirectory() as folder:
        table = create_table(Path(folder), FIELDS, ["k"], options=options)
        table.write_arrow(rows_of(first))
        table.write_arrow(rows_of(second))
        expected = first | second
        assert found(table) == expected
        for bound in list(expected)[:2]:
            assert found(table, f"k >= {text(bound)}") == {k: v for k, v in expected.items() if k >= bound}
            assert found(table, f"k = {text(bound)}") == {bound: expected[bound]}
            assert found(table, f"v = {text(bound)[:-1]}Z'") == {k: v for k, v in expected.items() if v == bound}
        assert compact(None, get_table(folder), full=True).snapshot_ids
        assert found(get_table(folder)) == expected


@pytest.mark.parametrize("keys", [(), ("k",)])
def test_rows_are_deleted_and_updated(tmp_path: Path, keys: tuple[str, ...]) -> None:
    options = {"bucket": "1", "bucket-key": "k"} | ({} if keys else {"deletion-vectors.enabled": "true"})
    table = create_table(tmp_path, FIELDS, keys, options=options)
    table.write_arrow(rows_of({YEAR_1: 1, 5: YEAR_9999 + 1, YEAR_9999: None}))
    delete(None, table, f"k = {text(YEAR_9999)}")
    assert found(table) == {YEAR_1: 1, 5: YEAR_9999 + 1}
    update(None, table, {"v": "TIMESTAMP '0001-01-01 00:00:00.000000007Z'"}, "k = TIMESTAMP '0001-01-01 00:00:00'")
    assert found(table) == {YEAR_1: YEAR_1 + 7, 5: YEAR_9999 + 1}


def test_what_nanoseconds_hold_is_read_as_before(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ())
    micros = pa.array([0, YEAR_9999 // 1000], pa.timestamp("us"))
    table.write_arrow(pa.table({"k": micros}))
    assert table.to_arrow(["k"]).schema.field("k").type == FarTimestampType()
    assert table.to_arrow(["k"]).to_pylist() == [{"k": 0}, {"k": YEAR_9999}]
    near = table.to_arrow(["k"], where="k < TIMESTAMP '2000-01-01 00:00:00'")
    assert near.schema.field("k").type == pa.timestamp("ns")


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ())
    wrong = pa.array([{"micros": 0, "nanos": 1000}], FarTimestampType().storage_type)
    for column in (wrong, pa.array([{"a": 1}]), moments([0], "UTC"), moments([2**63], "UTC")):
        with pytest.raises(DataError, match="'k' does not fit"):
            table.write_arrow(pa.table({"k": column}))


def test_queries_keep_far_years(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ())
    table.write_arrow(rows_of({YEAR_1: None}))
    result = Session({"warehouse": str(tmp_path)}).sql("SELECT k FROM db.t").to_arrow()
    assert result.to_pylist() == [{"k": YEAR_1}]
