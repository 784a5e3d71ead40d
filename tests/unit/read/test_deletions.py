"""Deleted rows stay out of every read, by their positions in the file: in batches, behind skipped parts, merged."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.commit.commit import commit_compact
from maintenance.commit.identity import CommitIdentity
from maintenance.errors import CorruptFileError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX, DeletionVectorRange
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.operations.compaction.compact import compact
from maintenance.predicate.sql import parse
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.row_selection import RowSelection
from maintenance.write.message import CommitMessage
from tests.deletion_vectors import ENABLED, MODIFIABLE, delete_rows, set_index
from tests.examples import examples
from tests.tables import create_table, keyed, live, live_files, splits_of, state

ROWS = 3000


@pytest.fixture(scope="module")
def wide_file(tmp_path_factory: pytest.TempPathFactory) -> CatalogTable:
    """One file of numbers 0 to `ROWS` - 1 in many row groups."""
    folder = tmp_path_factory.mktemp("groups")
    table = create_table(folder, (("n", "INT"), ("s", "STRING")), ())
    table.write_arrow(pa.table({"n": pa.array(range(ROWS), pa.int32()), "s": [f"s{n}" for n in range(ROWS)]}))
    (entry,) = live(table)
    path = table.paths.data_file(entry.partition, entry.bucket, entry.file)
    pq.write_table(pq.read_table(path), path, row_group_size=170)
    return table


def reader(table: CatalogTable, where: str | None, *, row_ids: bool = False) -> DataFileReader:
    """A reader of the one file, with its deletion vector."""
    (entry,) = live(table)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (deletions,) = table.manifests.deletion_vectors(snapshot).values()
    fields = (*table.schema.fields, *((ROW_ID,) if row_ids else ()))
    context = ReadContext(table.file_io, {table.schema.id: table.schema}, fields, keyed=False)
    path = table.paths.data_file(entry.partition, entry.bucket, entry.file)
    predicate = None if where is None else parse(where, table.schema.fields)
    # The fixture wrote the file again.
    file = replace(entry.file, file_size=Path(path).stat().st_size, first_row_id=1000 if row_ids else None)
    return DataFileReader(context, path, file, {}, predicate, RowSelection(deletions[entry.file.file_name]))


positions = st.one_of(
    st.frozensets(st.integers(0, ROWS - 1), max_size=40),
    st.builds(lambda start, length: frozenset(range(start, min(ROWS, start + length))), st.integers(0, ROWS - 1),
              st.integers(1, ROWS)),
)  # fmt: skip


@settings(max_examples=examples(20))
@given(positions, st.booleans(), st.integers(1, ROWS + 1), st.none() | st.integers(0, ROWS))
def test_positions_are_those_of_the_file(
    wide_file: CatalogTable, deleted: frozenset[int], wide: bool, batch_rows: int, low: int | None
) -> None:
    (file,) = live_files(wide_file)
    delete_rows(wide_file, {file.file_name: deleted}, wide=wide)
    actual = reader(wide_file, None if low is None else f"n >= {low}", row_ids=True)
    expected = [n for n in range(ROWS) if n not in deleted]
    whole = actual.read()
    batches = pa.concat_tables([*actual.batches(batch_rows), whole.slice(0, 0)])
    assert batches == whole
    rows = whole.column("n").to_pylist()
    assert whole.column("_ROW_ID").to_pylist() == [1000 + n for n in rows]
    if low is None:
        assert rows == expected
    else:
        # Row groups were skipped, whole ones only, and none that matches.
        assert set(rows) <= set(expected)
        assert [n for n in rows if n >= low] == [n for n in expected if n >= low]


def test_row_groups_are_skipped(wide_file: CatalogTable) -> None:
    (file,) = live_files(wide_file)
    delete_rows(wide_file, {file.file_name: [ROWS - 1]})
    assert 0 < reader(wide_file, f"n >= {ROWS - 2}").read().num_rows < ROWS // 2


def test_reads_of_a_table(tmp_path: Path) -> None:
    table = create_table(tmp_path, (("n", "INT"),), (), MODIFIABLE)
    for start in (0, 10):
        table.write_arrow(pa.table({"n": pa.array(range(start, start + 10), pa.int32())}))
    first, second = (file.file_name for file in live_files(table))
    delete_rows(table, {first: [0, 9]})
    expected = [*range(1, 9), *range(10, 20)]
    assert table.to_arrow(options=ENABLED).column("n").to_pylist() == expected
    assert table.to_arrow(options=ENABLED, where="n > 7").column("n").to_pylist() == [8, *range(10, 20)]
    delete_rows(table, {first: [], second: range(10)}, wide=True)
    assert table.to_arrow(options=ENABLED).column("n").to_pylist() == [*range(10)]
    # Without the option Paimon does not look at them either.
    assert table.to_arrow().num_rows == 20


def test_deletions_and_the_merge(tmp_path: Path) -> None:
    """Rows of level 0 count only where the table says so; deletions apply before the merge."""
    table = create_table(tmp_path, options=MODIFIABLE)
    table.write_arrow(keyed({1: "a", 2: "b", 3: "c"}))
    merging = {**ENABLED, "deletion-vectors.merge-on-read": "true"}
    assert state(table, options=ENABLED) == {}
    assert state(table, options={**ENABLED, "batch-scan-mode": "compact"}) == {1: "a", 2: "b", 3: "c"}
    compact(None, table, full=True)
    (file,) = live_files(table)
    delete_rows(table, {file.file_name: [1]})
    assert state(table, options=ENABLED) == {1: "a", 3: "c"}
    table.write_arrow(keyed({3: "cc", 4: "d"}))
    delete_rows(table, {file.file_name: [1]})
    assert state(table, options=ENABLED) == {1: "a", 3: "c"}
    assert state(table, options=ENABLED, where="v = 'c'") == {3: "c"}
    assert state(table, options=merging) == {1: "a", 3: "cc", 4: "d"}
    assert state(table, options=merging, where="v = 'c'") == {}


def test_files_of_several_levels_need_no_merging(tmp_path: Path) -> None:
    """With deletion vectors a key lives once above level 0, so conditions on values may skip single files."""
    table = create_table(tmp_path, options=MODIFIABLE)
    table.write_arrow(keyed({1: "a", 2: "b"}))
    compact(None, table, full=True)
    (file,) = live_files(table)
    table.write_arrow(keyed({3: "z"}))
    (young,) = (f for f in live_files(table) if f.level == 0)
    _lift(table, young, 4)
    delete_rows(table, {file.file_name: [0]})
    plan, _ = table.copy(ENABLED).plan()
    assert [split.raw for split in splits_of(plan)] == [True]
    plan, _ = table.copy(ENABLED).plan(None, table.predicate("v = 'z'"))
    assert plan.skipped_by_stats == 1
    assert state(table, options=ENABLED) == {2: "b", 3: "z"}
    plan, _ = table.plan()
    assert [split.raw for split in splits_of(plan)] == [False]


def _lift(table: CatalogTable, file: DataFileMeta, level: int) -> None:
    """Raise the level of a file, as a compaction does that need not rewrite it."""
    entry = next(e for e in live(table) if e.file == file)
    message = CommitMessage(
        entry.partition,
        entry.bucket,
        entry.total_buckets,
        compact_before=(file,),
        compact_after=(replace(file, level=level),),
    )
    commit_compact(table.commit_target(), [message], CommitIdentity("test", 1))


def damaged(tmp_path: Path) -> tuple[CatalogTable, Path]:
    table = create_table(tmp_path, (("n", "INT"),), (), MODIFIABLE)
    table.write_arrow(pa.table({"n": pa.array(range(10), pa.int32())}))
    (file,) = live_files(table)
    (path,) = delete_rows(table, {file.file_name: [3, 4]})
    return table, Path(path)


def test_a_missing_index_file(tmp_path: Path) -> None:
    table, path = damaged(tmp_path)
    path.unlink()
    with pytest.raises(CorruptFileError, match=path.name):
        table.to_arrow(options=ENABLED)


def test_a_damaged_index_file(tmp_path: Path) -> None:
    table, path = damaged(tmp_path)
    content = path.read_bytes()
    for position in range(1, len(content)):
        path.write_bytes(bytes([*content[:position], content[position] ^ 0x10, *content[position + 1 :]]))
        with pytest.raises(CorruptFileError, match=path.name):
            table.to_arrow(options=ENABLED)
    for end in range(len(content)):
        path.write_bytes(content[:end])
        with pytest.raises(CorruptFileError, match=path.name):
            table.to_arrow(options=ENABLED)


def test_a_vector_beyond_the_file(tmp_path: Path) -> None:
    table, _ = damaged(tmp_path)
    (file,) = live_files(table)
    delete_rows(table, {file.file_name: [10]})
    with pytest.raises(CorruptFileError, match="deletes row 10 of a file with 10 rows"):
        table.to_arrow(options=ENABLED)


def test_two_vectors_of_a_file(tmp_path: Path) -> None:
    table, _ = damaged(tmp_path)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (entry,) = table.manifests.read_index(snapshot)
    assert entry.index_type == DELETION_VECTORS_INDEX
    part = entry.dv_ranges[0] if entry.dv_ranges else DeletionVectorRange("", 0, 0)
    set_index(table, [entry, replace(entry, file_name="other", dv_ranges=(part,))])
    with pytest.raises(CorruptFileError, match="has two deletion vectors"):
        table.to_arrow(options=ENABLED)
