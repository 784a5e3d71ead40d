"""Tables with row tracking and data evolution: what several writers do to the same rows, and what is refused."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import ConflictError, DataError, UnsupportedError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.operations.orphans.candidates import list_candidates
from maintenance.operations.rows.delete import delete
from maintenance.operations.rows.evolved import NewColumns, commit_evolved, new_columns
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.merge_into import merge_into
from maintenance.operations.rows.row_changes import TargetState, whole_rows
from maintenance.operations.rows.update import update
from tests.tables import create_table, get_table, live_files

TRACKED = {"row-tracking.enabled": "true", "compaction.min.file-num": "2"}
EVOLVING = {**TRACKED, "data-evolution.enabled": "true"}
FIELDS = (("p", "INT"), ("id", "INT"), ("a", "STRING"), ("b", "STRING"))


def rows_of(*ids: int, p: int = 1) -> pa.Table:
    texts = [f"old {i}" for i in ids]
    numbers = pa.array(ids, pa.int32())
    return pa.table({"p": pa.array([p] * len(ids), pa.int32()), "id": numbers, "a": texts, "b": texts})


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Rows 0 to 5 with these row ids, in two files of one partition."""
    table = create_table(tmp_path, FIELDS, (), EVOLVING, partition_keys=("p",))
    table.write_arrow(rows_of(0, 1, 2))
    table.write_arrow(rows_of(3, 4, 5))
    return table


def seen(table: CatalogTable, *columns: str) -> list[tuple[object, ...]]:
    rows = table.to_arrow(columns=["_ROW_ID", *columns])
    return sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def planned(table: CatalogTable, column: str, ids: list[int]) -> Callable[[], tuple[int, ...]]:
    """New values of rows that another writer has computed, and commits when it is called."""
    state = TargetState.of(table, None, whole_rows(table))
    new = pa.table({"_ROW_ID": pa.array(ids, pa.int64()), column: [f"late {i}" for i in ids]})
    messages = new_columns(None, state, NewColumns(new, (column,)))
    return lambda: commit_evolved(state, messages, (), "update")


def file_count(table: CatalogTable) -> int:
    return list_candidates(table.file_io, table.paths, 1 << 62).files


def test_writers_of_other_columns_or_rows_do_not_disturb_each_other(table: CatalogTable) -> None:
    late_b, late_a = planned(table, "b", [1]), planned(table, "a", [3])
    update(None, table, {"a": "'new'"}, "id = 1")
    assert late_b() == (4,)
    assert late_a() == (5,)
    assert seen(table, "a", "b") == [
        (0, "old 0", "old 0"), (1, "new", "late 1"), (2, "old 2", "old 2"),
        (3, "late 3", "old 3"), (4, "old 4", "old 4"), (5, "old 5", "old 5"),
    ]  # fmt: skip


def test_a_value_that_was_computed_on_older_ones_is_not_committed(table: CatalogTable) -> None:
    late = planned(table, "a", [0, 4])
    update(None, table, {"a": "'new'"}, "id = 1")
    before = seen(table, "a"), len(live_files(table))
    with pytest.raises(ConflictError, match="same columns of the same rows"):
        late()
    assert (seen(table, "a"), len(live_files(table))) == before
    assert file_count(table) == len(live_files(table)) + len(list(Path(table.location, "manifest").iterdir()))


def test_files_that_were_compacted_meanwhile_get_no_columns(table: CatalogTable) -> None:
    late = planned(table, "a", [0])
    compact(None, table, full=True)
    with pytest.raises(ConflictError, match="in the place of the same rows"):
        late()


def test_a_compaction_plans_anew_when_its_rows_get_new_columns(table: CatalogTable) -> None:
    raced: list[str] = []

    def race(line: str) -> None:
        if "rewritten" in line and not raced:
            raced.append(line)
            update(None, table, {"b": "'new'"}, "id = 2")

    compact(None, table, full=True, progress=race)
    assert raced
    assert [(file.first_row_id, file.row_count) for file in live_files(table)] == [(0, 6)]
    assert seen(table, "b")[2] == (2, "new")


def test_rows_are_deleted_in_vectors_and_keep_their_places(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), {**EVOLVING, "deletion-vectors.enabled": "true"})
    table.write_arrow(rows_of(0, 1, 2))
    update(None, table, {"a": "'new'"}, "id >= 1")
    assert delete(None, table, "a = 'new' AND id = 1").deleted_rows == 1
    assert seen(table, "a") == [(0, "old 0"), (2, "new")]
    update(None, table, {"b": "'newer'"}, "id = 2")
    table.write_arrow(rows_of(3, 4))
    # Files whose rows have a vector are left as they are; there is nothing beside them to put together.
    assert compact(None, table, full=True).snapshot_ids == ()
    assert seen(table, "a", "b") == [
        (0, "old 0", "old 0"), (2, "new", "newer"), (3, "old 3", "old 3"), (4, "old 4", "old 4"),
    ]  # fmt: skip


def test_what_a_table_with_data_evolution_refuses(table: CatalogTable) -> None:
    with pytest.raises(UnsupportedError, match="'p' is a partition column"):
        update(None, table, {"p": 2}, "id = 1")
    with pytest.raises(UnsupportedError, match="does not delete rows"):
        merge_into(None, table, rows_of(1), "t.id = s.id", [Clause("matched", "delete")])
    with pytest.raises(UnsupportedError, match="order of their ids"):
        compact(None, table, full=True, order_strategy="order", order_by=["a"])
    with pytest.raises(UnsupportedError, match="cannot be written again"):
        rewrite_file_index(None, table)


def test_sorting_keeps_row_ids(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), TRACKED)
    table.write_arrow(rows_of(5, 3))
    table.write_arrow(rows_of(4))
    compact(None, table, full=True, order_strategy="order", order_by=["id"])
    actual = table.to_arrow(columns=["id", "_ROW_ID", "_SEQUENCE_NUMBER"]).to_pydict()
    assert actual == {"id": [3, 4, 5], "_ROW_ID": [1, 2, 0], "_SEQUENCE_NUMBER": [1, 2, 1]}


def test_file_indexes_of_tracked_files(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), TRACKED)
    table.write_arrow(rows_of(0, 1))
    update(None, table, {"a": "'new'"}, "id = 1")
    indexed = table.copy({"file-index.bloom-filter.columns": "a"})
    assert rewrite_file_index(None, indexed).written_files == 2
    assert seen(get_table(tmp_path), "a") == [(0, "old 0"), (1, "new")]


UNFIT: Mapping[str, tuple[object, str]] = {
    "VARCHAR(2)": ("too long", "length 8 in column 'x'"),
    "CHAR(2)": ("too long", "length 8 in column 'x'"),
    "BINARY(2)": (b"too long", "length 8 in column 'x'"),
    "VARBINARY(2)": (b"too long", "length 8 in column 'x'"),
    "ARRAY<VARCHAR(2)>": (["too long"], "length 8 in column 'x.element'"),
    "MAP<STRING, CHAR(2)>": ([("k", "too long")], "length 8 in column 'x.value'"),
    "ROW<y ROW<z VARCHAR(2)>>": ({"y": {"z": "too long"}}, "length 8 in column 'x.y.z'"),
    "ROW<y INT NOT NULL>": ({"y": None}, "null in column 'x.y'"),
    "ARRAY<INT NOT NULL>": ([1, None], "null in column 'x.element'"),
    "DECIMAL(4, 2)": (Decimal("123456.78"), "does not fit DECIMAL"),
    "INT": (1 << 40, "does not fit INT"),
    "VECTOR<FLOAT, 3>": ([1.0, 2.0], "a list of 2 elements|2 elements in column 'x'"),
    "ARRAY<VECTOR<FLOAT, 3>>": ([[1.0, 2.0]], "2 elements in column 'x.element'"),
    "TIME(3)": (86_400_000, "does not fit TIME|a time of"),
}


def typed_rows(kind: str, values: Sequence[object]) -> pa.Table:
    arrow = MAPS.get(kind)
    return pa.table({"id": pa.array(range(len(values)), pa.int32()), "x": pa.array(values, arrow)})


MAPS = {"MAP<STRING, CHAR(2)>": pa.map_(pa.string(), pa.string()), "TIME(3)": pa.int32()}


@pytest.mark.parametrize("kind", UNFIT)
@pytest.mark.parametrize("options", [EVOLVING, TRACKED, {**EVOLVING, "deletion-vectors.enabled": "true"}], ids=str)
def test_values_that_do_not_fit_are_refused(tmp_path: Path, kind: str, options: Mapping[str, str]) -> None:
    value, said = UNFIT[kind]
    table = create_table(tmp_path, (("id", "INT"), ("x", kind)), (), options)
    table.write_arrow(pa.table({"id": pa.array([0], pa.int32())}))
    before, files = table.to_arrow(), file_count(table)
    changed = Clause("matched", "update", {"x": "s.x"})
    added = Clause("not_matched", "insert", {"id": "s.id", "x": "s.x"})
    for clause, ids in ((changed, [0]), (added, [9])):
        source = typed_rows(kind, [value]).set_column(0, "id", pa.array(ids, pa.int32()))
        with pytest.raises(DataError, match=said):
            merge_into(None, table, source, "t.id = s.id", [clause])
    assert get_table(tmp_path).to_arrow().equals(before)
    assert file_count(table) == files


def test_updates_check_not_null_and_cut_off_digits_of_times(tmp_path: Path) -> None:
    fields = (("id", "INT NOT NULL"), ("t", "TIME(0)"), ("z", "TIMESTAMP(3)"))
    table = create_table(tmp_path, fields, (), EVOLVING)
    moment = datetime(1969, 12, 31, 23, 59, 59, 999999)
    table.write_arrow(pa.table({"id": pa.array([1], pa.int32())}))
    source = pa.table({"id": pa.array([1], pa.int32()), "t": [time(1, 2, 3, 999000)], "z": [moment]})
    merge_into(None, table, source, "t.id = s.id", [Clause("matched", "update", {"t": "s.t", "z": "s.z"})])
    cut = {"id": 1, "t": time(1, 2, 3), "z": moment.replace(microsecond=999000)}
    assert table.to_arrow().to_pylist() == [cut]
    with pytest.raises(DataError, match="null in column 'id'"):
        update(None, table, {"id": "NULL"})
    assert get_table(tmp_path).to_arrow().to_pylist() == [cut]
