"""Tables whose keys may change their partition: a key is in one partition at a time, whoever writes."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.bucket.cross_partition import route
from maintenance.catalog import CatalogTable, open_catalog
from maintenance.commit.commit import append_or_abort
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.overwrite import Overwrite
from maintenance.errors import ConflictError, OptionError, UnsupportedError
from maintenance.format.rows.binary_row import row_array, serialize_row
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.types.data_type import parse_type
from maintenance.write.rows import conform
from maintenance.write.table_write import write_rows
from tests.examples import examples
from tests.golden.case import extract
from tests.models.cross_partition import CrossPartitionModel, Row
from tests.tables import create_table, data_files, files_on_disk, get_table, live

FIELDS = (("k", "INT NOT NULL"), ("p", "STRING"), ("v", "STRING"))
ENGINES = ("deduplicate", "partial-update", "first-row")


def created(folder: Path, engine: str = "deduplicate", **options: str) -> CatalogTable:
    given_ = {"bucket": "-1", "merge-engine": engine, "dynamic-bucket.target-row-num": "4", **options}
    return create_table(folder, FIELDS, ("k",), given_, partition_keys=("p",))


def arrow(rows: list[Row]) -> pa.Table:
    types = {"k": pa.int32(), "p": pa.string(), "v": pa.string()}
    return pa.table({name: pa.array([row[i] for row in rows], types[name]) for i, name in enumerate(types)})


def rows_of(table: CatalogTable) -> dict[int, Row]:
    """Rows by key, level 0 of first-row included; each key once."""
    read = table.to_arrow(options={"batch-scan-mode": "compact"}).to_pylist()
    actual = {row["k"]: (row["k"], row["p"], row["v"]) for row in read}
    assert len(actual) == len(read), "a key is in two partitions"
    return actual


def test_serialized_keys_tell_rows_apart() -> None:
    columns = [pa.array([1, 2, 1], pa.int32()), pa.array(["a", "longer than eight", None])]
    types = [parse_type("INT"), parse_type("STRING")]
    assert row_array(columns, types).to_pylist() == [
        serialize_row(row, types)[4:] for row in zip(*(column.to_pylist() for column in columns), strict=True)
    ]
    assert row_array([column.slice(0, 0) for column in columns], types).to_pylist() == []


@settings(max_examples=examples(100))
@given(
    records=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=12),
    homes=st.lists(st.integers(-1, 2), min_size=4, max_size=4),
    engine=st.sampled_from(ENGINES),
)
def test_routes_are_those_of_one_record_after_the_other(
    records: list[tuple[int, int]], homes: list[int], engine: str
) -> None:
    wanted: list[tuple[int, int, bool]] = []
    at = dict(enumerate(homes))
    for row, (key, partition) in enumerate(records):
        if at[key] in (-1, partition):
            at[key] = partition
            wanted.append((row, partition, False))
        elif engine == "deduplicate":
            wanted += [(row, at[key], True), (row, partition, False)]
            at[key] = partition
        elif engine == "partial-update":
            wanted.append((row, at[key], False))
    keys, partitions = (np.array([record[i] for record in records], np.int64) for i in range(2))
    actual = route(keys, partitions, np.array(homes), engine)
    assert list(zip(actual.rows.tolist(), actual.partitions.tolist(), actual.retract.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("engine", ENGINES)
def test_keys_move_stay_or_are_ignored(tmp_path: Path, engine: str) -> None:
    table, model = created(tmp_path, engine), CrossPartitionModel(engine)
    batches: list[list[Row]] = [
        [(k, "x" if k % 2 else "y", "0") for k in range(12)],
        [(3, "y", "1"), (3, "x", None), (3, "z", "2"), (20, "x", "1"), (20, "y", "2")],
        [(k, "z", "3") for k in range(5, 15)],
    ]
    for batch in batches:
        table.write_arrow(arrow(batch))
        model.write_all(batch)
        assert rows_of(table) == model.rows
    compact(None, table, full=True)
    assert rows_of(table) == model.rows
    assert {entry.total_buckets for entry in live(table)} == {-1}
    assert fsck(table.file_io, table.location, deep=True).healthy
    assert files_on_disk(table) == data_files(table)


def test_buckets_are_filled_and_kept(tmp_path: Path) -> None:
    table = created(tmp_path)
    table.write_arrow(arrow([(k, "x", "0") for k in range(10)]))
    assert Counter(entry.bucket for entry in live(table) for _ in range(entry.file.row_count)) == {0: 4, 1: 4, 2: 2}
    table.write_arrow(arrow([(k, "x", "1") for k in range(10)]))
    assert Counter(entry.bucket for entry in live(table) for _ in range(entry.file.row_count)) == {0: 8, 1: 8, 2: 4}


def test_deletions_find_their_key(tmp_path: Path) -> None:
    table = created(tmp_path)
    table.write_arrow(arrow([(1, "x", "a"), (2, "x", "a")]))
    table.write_arrow(arrow([(1, "y", "a"), (2, "x", "a")]), ["-D", "-D"])
    assert rows_of(table) == {}
    table.write_arrow(arrow([(1, "z", "b")]))
    assert rows_of(table) == {1: (1, "z", "b")}


def test_two_writers_and_a_compaction_leave_no_key_in_two_partitions(tmp_path: Path) -> None:
    created(tmp_path, **{"commit.max-retries": "50"})

    def write(number: int) -> None:
        for turn in range(3):
            rows: list[Row] = [(k, "xyz"[(k + number + turn) % 3], f"{number}/{turn}") for k in range(8)]
            get_table(tmp_path).write_arrow(arrow(rows))

    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(write, number) for number in range(2)]
        while not all(task.done() for task in running):
            compact(None, get_table(tmp_path), full=True)
        for task in running:
            task.result()
    table = get_table(tmp_path)
    assert sorted(rows_of(table)) == list(range(8))
    assert files_on_disk(table) == data_files(table)


def test_places_that_a_rollback_took_away(tmp_path: Path) -> None:
    table = created(tmp_path)
    table.write_arrow(arrow([(1, "x", "a")]))
    table.write_arrow(arrow([(2, "x", "a")]))
    context, state = table.write_context(), table.write_state("slow")
    messages = write_rows(context, state, conform(arrow([(2, "y", "b")]), None, context))
    rollback_to(table, snapshot_id=1)
    table.write_arrow(arrow([(2, "z", "c")]))
    with pytest.raises(ConflictError):
        append_or_abort(table.commit_target(), messages, CommitIdentity("slow"), state=state)
    assert rows_of(table) == {1: (1, "x", "a"), 2: (2, "z", "c")}


def test_the_index_forgets_what_is_older_than_its_time(tmp_path: Path) -> None:
    table = created(tmp_path)
    table.write_arrow(arrow([(1, "x", "a")]))
    table.copy({"cross-partition-upsert.index-ttl": "1 d"}).write_arrow(arrow([(1, "y", "b")]))
    assert rows_of(table) == {1: (1, "y", "b")}
    table.copy({"cross-partition-upsert.index-ttl": "0 ms"}).write_arrow(arrow([(1, "z", "c")]))
    assert table.to_arrow().num_rows == 2


def test_dynamic_overwrites_ignored_deletes_and_sequence_fields_are_refused(tmp_path: Path) -> None:
    table = created(tmp_path)
    table.write_arrow(arrow([(1, "x", "a")]))
    with pytest.raises(UnsupportedError, match="overwritten"):
        table.overwrite_arrow(arrow([(1, "y", "b")]))
    with pytest.raises(UnsupportedError, match="ignore-delete"):
        table.copy({"ignore-delete": "true"}).write_arrow(arrow([(1, "y", "b")]))
    with pytest.raises(OptionError):
        created(tmp_path / "other", **{"sequence.field": "v"})
    assert rows_of(table) == {1: (1, "x", "a")}
    table.overwrite_arrow(arrow([(1, "y", "b"), (1, "z", "c")]), Overwrite(dynamic=False))
    assert rows_of(table) == {1: (1, "z", "c")}
    table.truncate([{"p": "z"}])
    assert rows_of(table) == {}
    assert files_on_disk(table) == data_files(table)


@pytest.mark.parametrize(("name", "engine"), list(zip(("dedup", "partial", "first"), ENGINES, strict=True)))
def test_paimons_own_tables_go_on(tmp_path: Path, name: str, engine: str) -> None:
    table = open_catalog({"warehouse": str(extract("cross_partition", tmp_path))}).get_table(f"db.{name}")
    assert isinstance(table, CatalogTable)
    before = rows_read(table)
    batch = [{**row, "p": "xyz"[(index + 1) % 3]} for index, row in enumerate(before.values())]
    data = pa.Table.from_pylist(batch, schema=table.to_arrow().schema)
    table.copy({"write-only": "true"}).write_arrow(data)
    after = rows_read(table)
    wanted = {row["k"]: row["p"] for row in (batch if engine == "deduplicate" else before.values())}
    assert {key: row["p"] for key, row in after.items()} == wanted
    compact(None, table.copy({"write-only": "true"}), full=True)
    assert rows_read(table) == after


def rows_read(table: CatalogTable) -> dict[int, dict[str, object]]:
    read = table.to_arrow(options={"batch-scan-mode": "compact"}).to_pylist()
    actual = {row["k"]: row for row in read}
    assert len(actual) == len(read)
    return actual


ONE_ROW = st.tuples(st.integers(0, 6), st.sampled_from("xyz"), st.sampled_from(["a", "b", None]))
WRITES = st.tuples(st.sampled_from(["+I", "-D"]), st.lists(ONE_ROW, min_size=1, max_size=8))
STEPS = st.lists(st.one_of(WRITES, st.tuples(st.just("compact"), st.none())), max_size=6)


@settings(max_examples=examples(15))
@given(engine=st.sampled_from(ENGINES), steps=STEPS)
def test_any_history_is_that_of_a_dict(
    tmp_path_factory: pytest.TempPathFactory, engine: str, steps: list[tuple[str, list[Row] | None]]
) -> None:
    table, model = created(tmp_path_factory.mktemp("t"), engine), CrossPartitionModel(engine)
    for step, rows in steps:
        if rows is None:
            compact(None, table, full=True)
        elif step == "+I" or engine == "deduplicate":
            table.write_arrow(arrow(rows), [step] * len(rows))
            model.write_all(rows, step)
        assert rows_of(table) == model.rows
