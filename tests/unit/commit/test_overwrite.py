"""INSERT OVERWRITE, TRUNCATE and DROP PARTITION: what is replaced, what stays."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.commit.overwrite import Overwrite, raised
from maintenance.errors import DataError
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.compaction.compact import compact
from maintenance.operations.ingestion.ingest import ingest
from tests.examples import examples
from tests.tables import create_table, files_on_disk, get_table, keyed, live_files, state
from tests.unit.commit.entries import add

DAYS = (("id", "INT NOT NULL"), ("v", "STRING"), ("day", "STRING NOT NULL"), ("hour", "INT NOT NULL"))
Model = dict[tuple[str, int, int], str]
Step = tuple[str, Model, str | None]


def days_table(folder: Path, primary_key: bool = True, **options: str) -> CatalogTable:
    keys = ("day", "hour", "id") if primary_key else ()
    return create_table(folder, DAYS, keys, options, partition_keys=("day", "hour"))


def rows_of(model: Model) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([key[2] for key in model], pa.int32()),
            "v": pa.array(list(model.values()), pa.string()),
            "day": pa.array([key[0] for key in model], pa.string()),
            "hour": pa.array([key[1] for key in model], pa.int32()),
        }
    )


def model_of(table: CatalogTable) -> Model:
    rows = table.to_arrow().to_pylist()
    actual = {(row["day"], row["hour"], row["id"]): row["v"] for row in rows}
    assert len(actual) == len(rows)
    return actual


START: Model = {("a", 1, 1): "x", ("a", 2, 1): "y", ("b", 1, 1): "z"}


def test_the_partitions_that_get_rows_are_replaced(tmp_path: Path) -> None:
    table = days_table(tmp_path)
    table.write_arrow(rows_of(START))
    assert table.overwrite_arrow(rows_of({("a", 1, 7): "new"})) == (2,)
    assert model_of(table) == {("a", 1, 7): "new", ("a", 2, 1): "y", ("b", 1, 1): "z"}
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert (snapshot.commit_kind, snapshot.total_record_count, snapshot.delta_record_count) == (
        CommitKind.OVERWRITE, 3, 0,
    )  # fmt: skip
    assert table.overwrite_arrow(rows_of({})) == (), "no partition gets rows"


@pytest.mark.parametrize(
    ("partitions", "left"),
    [
        (None, []),
        ([{"day": "a"}], [("b", 1, 1)]),
        ([{"day": "a", "hour": "2"}], [("a", 1, 1), ("b", 1, 1)]),
        ([{"hour": "1"}, {"day": "a"}], []),
        ([{"day": "nowhere"}], [*START]),
    ],
)
def test_truncate_empties_the_named_partitions_and_keeps_files(
    tmp_path: Path, partitions: Sequence[Mapping[str, str]] | None, left: list[tuple[str, int, int]]
) -> None:
    table = days_table(tmp_path)
    table.write_arrow(rows_of(START))
    before = files_on_disk(table)
    assert table.truncate(partitions) == (2,)
    assert model_of(table) == {key: START[key] for key in left}
    assert files_on_disk(table) == before, "older snapshots keep their files"


def test_a_static_partition_is_replaced_also_by_nothing(tmp_path: Path) -> None:
    table = days_table(tmp_path)
    table.write_arrow(rows_of(START))
    table.overwrite_arrow(rows_of({("a", 3, 1): "n"}), Overwrite([{"day": "a"}], dynamic=False))
    assert model_of(table) == {("a", 3, 1): "n", ("b", 1, 1): "z"}
    table.overwrite_arrow(rows_of({}), Overwrite([{"day": "a"}], dynamic=False))
    assert model_of(table) == {("b", 1, 1): "z"}


@pytest.mark.parametrize(
    ("overwrite", "said"),
    [(Overwrite([{"day": "b"}]), "which is not overwritten"), (Overwrite([{"dya": "b"}]), "is not a partition")],
)
def test_rows_outside_are_refused_and_leave_nothing(tmp_path: Path, overwrite: Overwrite, said: str) -> None:
    table = days_table(tmp_path)
    table.write_arrow(rows_of(START))
    before = files_on_disk(table)
    with pytest.raises(DataError, match=said):
        table.overwrite_arrow(rows_of({("a", 1, 1): "n"}), overwrite)
    assert model_of(table) == START
    assert files_on_disk(table) == before


def test_new_files_of_a_key_table_stand_at_the_highest_level(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a", 2: "b"}))
    table.overwrite_arrow(keyed({3: "c"}))
    assert state(table) == {3: "c"}
    assert [(file.level, file.min_sequence_number) for file in live_files(table)] == [(5, 0)]
    table.write_arrow(keyed({3: "later"}))
    assert state(table) == {3: "later"}
    low = create_table(tmp_path, options={"overwrite-upgrade": "false"}, name="db.low")
    low.overwrite_arrow(keyed({3: "c"}))
    assert [file.level for file in live_files(low)] == [0]


def test_another_number_of_buckets_comes_with_an_overwrite(tmp_path: Path) -> None:
    from maintenance.catalog import SetOption
    from tests.tables import open_warehouse

    create_table(tmp_path).write_arrow(keyed(dict.fromkeys(range(20), "old")))
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("bucket", "4")])
    table = get_table(tmp_path)
    table.overwrite_arrow(table.to_arrow())
    assert state(table) == dict.fromkeys(range(20), "old")
    table.write_arrow(keyed({3: "new"}))
    assert state(table) == dict.fromkeys(range(20), "old") | {3: "new"}


def test_a_replayed_overwrite_does_nothing(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    first = table.overwrite_arrow(keyed({1: "a"}), commit_user="me", commit_identifier=1)
    table.write_arrow(keyed({2: "b"}))
    assert first == (1,)
    assert table.overwrite_arrow(keyed({1: "a"}), commit_user="me", commit_identifier=1) == ()
    assert state(table) == {1: "a", 2: "b"}


def test_an_ingestion_can_overwrite_the_table(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    report = ingest(None, table, keyed({2: "b"}), commit_user="me", overwrite=Overwrite())
    assert (report.snapshot_ids, report.row_count) == ((2,), 1)
    assert state(table) == {2: "b"}


KEYS = st.tuples(st.sampled_from("ab"), st.integers(1, 2), st.integers(1, 3))
BATCHES = st.dictionaries(KEYS, st.sampled_from("xyz"), max_size=4)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("write"), BATCHES, st.none()),
    st.tuples(st.just("dynamic"), BATCHES, st.none()),
    st.tuples(st.just("static"), BATCHES, st.sampled_from("ab")),
    st.tuples(st.just("truncate"), st.just({}), st.sampled_from("ab")),
    st.tuples(st.just("compact"), st.just({}), st.none()),
)


@settings(max_examples=examples(15))
@given(st.lists(STEPS, max_size=7), st.booleans())
def test_writes_and_overwrites_leave_what_a_dictionary_holds(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], primary_key: bool
) -> None:
    table = days_table(tmp_path_factory.mktemp("w"), primary_key)
    model: Model = {}
    for what, batch, day in steps:
        batch = {key: value for key, value in batch.items() if day is None or key[0] == day}
        if what == "write":
            batch = batch if primary_key else {key: value for key, value in batch.items() if key not in model}
            table.write_arrow(rows_of(batch))
            model |= batch
        elif what == "dynamic":
            table.overwrite_arrow(rows_of(batch))
            touched = {key[:2] for key in batch}
            model = {key: value for key, value in model.items() if key[:2] not in touched} | batch
        elif what == "static":
            assert day is not None
            table.overwrite_arrow(rows_of(batch), Overwrite([{"day": day}], dynamic=False))
            model = {key: value for key, value in model.items() if key[0] != day} | batch
        elif what == "truncate":
            assert day is not None
            table.truncate([{"day": day}])
            model = {key: value for key, value in model.items() if key[0] != day}
        else:
            compact(None, table, full=True)
        assert model_of(table) == model


@pytest.mark.parametrize(
    ("files", "options", "levels"),
    [
        ([(0, 4), (5, 9)], {}, [5, 5]),
        ([(5, 9), (0, 4)], {}, [5, 5]),
        ([(0, 5), (5, 9)], {}, [0, 0]),
        ([(3, 3), (3, 3)], {}, [0, 0]),
        ([(0, 9), (3, 4)], {}, [0, 0]),
        ([(0, 4), (5, 9), (9, 12)], {}, [0, 0, 0]),
        ([(0, 4)], {}, [5]),
        ([(0, 4)], {"num-levels": "3"}, [2]),
        ([(0, 4)], {"overwrite-upgrade": "false"}, [0]),
        ([], {}, []),
    ],
)
def test_files_that_share_no_key_stand_at_the_highest_level(
    tmp_path: Path, files: list[tuple[int, int]], options: dict[str, str], levels: list[int]
) -> None:
    """Ends belong to the ranges of keys."""
    target = create_table(tmp_path, options=options).commit_target()
    given = [add(str(number), keys=keys) for number, keys in enumerate(files)]
    actual = raised(target, given)
    assert [entry.file.level for entry in actual] == levels
    assert [replace(entry, file=replace(entry.file, level=0)) for entry in actual] == given


def test_each_bucket_is_looked_at_for_itself(tmp_path: Path) -> None:
    target = create_table(tmp_path).commit_target()
    apart = [add("a", keys=(0, 4)), add("b", keys=(0, 4), bucket=1), add("c", keys=(4, 9), bucket=1)]
    assert {entry.file.file_name: entry.file.level for entry in raised(target, apart)} == {"a": 5, "b": 0, "c": 0}
    # Of rows that wait, and of files that have a level, nothing is known.
    for further in (add("w", bucket=-2), add("l", level=1, bucket=3)):
        assert raised(target, [*apart[:1], further]) == [*apart[:1], further]
    keyless = create_table(tmp_path / "keyless", primary_keys=()).commit_target()
    assert raised(keyless, apart) == apart
