"""Partitions whose folders have one name: each operation touches the one that is meant, or names those it may be."""

import datetime as dt
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.overwrite import Overwrite
from maintenance.errors import DataError, NotFoundError, OptionError, OutdatedPlanError
from maintenance.monitor.triggers import Triggers, judge
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.request import CompactRequest
from maintenance.operations.expiry.expire_partitions import expire_partitions
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.mark_partition_done import mark_partition_done
from maintenance.operations.retention.explain import explain
from maintenance.operations.rows.drop_partitions import OPERATION as DROP_PARTITIONS
from maintenance.operations.rows.drop_partitions import drop_partitions
from maintenance.operations.rows.rescale import rescale
from maintenance.operations.rows.restore_partitions import OPERATION as RESTORE_PARTITIONS
from maintenance.operations.rows.restore_partitions import restore_partitions
from maintenance.operations.rows.truncate import OPERATION as TRUNCATE
from maintenance.table.shape import table_shape
from tests.kept_plans import (
    apply_compact,
    apply_expire_partitions,
    apply_file_index,
    plan_compact,
    plan_expire_partitions,
    plan_file_index,
)
from tests.tables import create_table, get_table, live, open_warehouse

NULL_NAME = "__DEFAULT_PARTITION__"
ROWS: Sequence[tuple[int, str | None]] = ((1, None), (2, ""), (3, " "), (4, NULL_NAME), (5, "x"))
INDEXED = {"file-index.bloom-filter.columns": "id"}


def filled(
    folder: Path, writes: int = 2, options: dict[str, str] | None = None, *, keyed: bool = False
) -> CatalogTable:
    """A table with `writes` files in each partition; with a primary key none is null."""
    null = " NOT NULL" if keyed else ""
    columns = (("id", f"INT{null}"), ("p", f"STRING{null}"))
    keys = ("id", "p") if keyed else ()
    table = create_table(folder, columns, keys, options or {}, partition_keys=("p",))
    for _ in range(writes):
        put(table, [row for row in ROWS if not keyed or row[1] is not None])
    return table


def put(table: CatalogTable, rows: Sequence[tuple[int, str | None]]) -> None:
    ids, partitions = zip(*rows, strict=True)
    table.write_arrow(pa.table({"id": pa.array(ids, pa.int32()), "p": pa.array(partitions, pa.string())}))


def ids(table: CatalogTable) -> set[int]:
    return set(get_table(Path(table.location).parents[1]).to_arrow()["id"].to_pylist())


def files(table: CatalogTable) -> dict[str, int]:
    """How many files each partition has."""
    counts: dict[str, int] = {}
    for entry in live(table):
        text = str(table.paths.partition(entry.partition)).removeprefix("p=")
        counts[text] = counts.get(text, 0) + 1
    return counts


EACH: Sequence[tuple[str | None, int]] = ((None, 1), ("", 2), (" ", 3), (f"'{NULL_NAME}'", 4), ("x", 5))


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize(
    ("condition", "gone"),
    [("p = ''", {2}), ("p = ' '", {3}), (f"p = '{NULL_NAME}'", {4}), ("p IS NULL", {1}), ("p IN ('', 'x')", {2, 5})],
)
def test_a_condition_deletes_what_it_matches(tmp_path: Path, condition: str, gone: set[int], keyed: bool) -> None:
    table = filled(tmp_path, 1, keyed=keyed)
    there = ids(table)
    report = table.delete(condition)
    assert ids(table) == there - gone
    assert report.deleted_rows == len(there & gone)


@pytest.mark.parametrize(("text", "number"), EACH)
def test_one_of_them_is_dropped_emptied_or_replaced(tmp_path: Path, text: str | None, number: int) -> None:
    drop = filled(tmp_path / "drop")
    report = drop_partitions(drop, [{"p": text}])
    assert (ids(drop), report.files, report.rows) == ({1, 2, 3, 4, 5} - {number}, 2, 2)
    assert drop_partitions(drop, report.dropped, ignore_if_not_exists=True).missing == report.dropped
    emptied = filled(tmp_path / "truncate")
    emptied.truncate([{"p": text}])
    assert ids(emptied) == {1, 2, 3, 4, 5} - {number}
    replaced = filled(tmp_path / "overwrite")
    value = dict(ROWS)[number]
    rows = pa.table({"id": pa.array([9], pa.int32()), "p": pa.array([value], pa.string())})
    replaced.overwrite_arrow(rows, Overwrite([{"p": text}], dynamic=False))
    assert ids(replaced) == {1, 2, 3, 4, 5, 9} - {number}


AMBIGUOUS: dict[str, Callable[[CatalogTable, list[dict[str, Any]]], Any]] = {
    "drop": drop_partitions,
    "drop plan": lambda table, specs: DROP_PARTITIONS.dry_run(table, partitions=specs),
    "truncate": lambda table, specs: table.truncate(specs),
    "truncate plan": lambda table, specs: TRUNCATE.dry_run(table, partition=specs[0]),
    "overwrite": lambda table, specs: table.overwrite_arrow(table.to_arrow().slice(0, 0), Overwrite(specs)),
    "compact": lambda table, specs: compact(None, table, full=True, partitions=specs),
    "compact plan": lambda table, specs: plan_compact(table, CompactRequest(full=True, partitions=specs)),
    "file index": lambda table, specs: rewrite_file_index(None, table, partitions=specs),
    "file index plan": lambda table, specs: plan_file_index(None, table, partitions=specs),
    "restore": lambda table, specs: restore_partitions(None, table, specs, snapshot_id=1),
    "restore plan": lambda table, specs: RESTORE_PARTITIONS.dry_run(table, partitions=specs, snapshot_id=1),
    "explain": lambda table, specs: explain(table, partition=specs[0]),
    "catalog": lambda table, specs: open_warehouse(Path(table.location).parents[1]).drop_partitions("db.t", specs),
}


@pytest.mark.parametrize("operation", AMBIGUOUS)
def test_the_name_of_all_of_them_is_refused(tmp_path: Path, operation: str) -> None:
    table = filled(tmp_path, options=INDEXED)
    with pytest.raises(DataError, match=r"may mean several partitions: p IS NULL or p = '' or p = ' ' or p = '''__DEF"):
        AMBIGUOUS[operation](table, [{"p": NULL_NAME}])
    assert (table.snapshots.latest_id(), ids(table)) == (2, {1, 2, 3, 4, 5})


def test_a_rescale_of_one_of_them(tmp_path: Path) -> None:
    table = filled(tmp_path, options={"bucket": "2"}, keyed=True)
    with pytest.raises(DataError, match="may mean several"):
        rescale(None, table, bucket_num=1, partitions=[{"p": NULL_NAME}])
    report = rescale(None, table, bucket_num=1, partitions=[{"p": ""}])
    assert list(map(str, report.partitions)) == ["p=''"]
    assert {str(table.paths.partition(e.partition)): e.total_buckets for e in live(table)}["p=' '"] == 2


@pytest.mark.parametrize(("text", "number"), EACH)
def test_one_of_them_is_compacted(tmp_path: Path, text: str | None, number: int) -> None:
    table = filled(tmp_path)
    report = compact(None, table, full=True, partitions=[{"p": text}])
    (group,) = report.groups
    shown = group.partition.removeprefix("p=")
    assert files(table) == {**dict.fromkeys(files(table), 2), shown: 1}
    put(table, [ROWS[number - 1]])
    plan = plan_compact(table, CompactRequest(full=True, partitions=[{"p": text}]))
    assert [each.name for each in plan.groups] == [f"p={shown} bucket 0"]
    assert apply_compact(None, table, reread(plan)).snapshot_ids
    assert files(table)[shown] == 1


def reread(plan: StoredPlan) -> StoredPlan:
    """The plan as it comes back out of its file."""
    return StoredPlan.of_dict(json.loads(plan._text()))


def test_a_stored_plan_means_the_partitions_of_its_time(tmp_path: Path) -> None:
    table = create_table(tmp_path, (("id", "INT"), ("p", "STRING")), (), {}, partition_keys=("p",))
    put(table, [(1, None), (5, "x")])
    plans = {
        "drop": DROP_PARTITIONS.dry_run(table, partitions=[{"p": NULL_NAME}]),
        "truncate": TRUNCATE.dry_run(table, partition={"p": NULL_NAME}),
    }
    assert plans["drop"].arguments["partitions"][0]["partition"] == {"p": NULL_NAME}
    # By now the name means the partition of '' alone.
    drop_partitions(table, [{"p": None}])
    put(table, [(2, "")])
    with pytest.raises((OutdatedPlanError, NotFoundError)):
        DROP_PARTITIONS.carry_out(table, reread(plans["drop"]))
    with pytest.raises(OutdatedPlanError):
        TRUNCATE.carry_out(table, reread(plans["truncate"]))
    assert ids(table) == {2, 5}


def test_plans_of_one_of_them_are_applied(tmp_path: Path) -> None:
    table = filled(tmp_path, 1, INDEXED)
    plan = reread(DROP_PARTITIONS.dry_run(table, partitions=[{"p": ""}, {"p": None}]))
    assert [group.name for group in plan.groups] == ["p=''", f"p={NULL_NAME}"]
    report = DROP_PARTITIONS.carry_out(table, plan)
    assert (report.files, ids(table)) == (2, {3, 4, 5})
    create_tag(table, "before", snapshot_id=1)
    plan = reread(RESTORE_PARTITIONS.dry_run(table, partitions=[{"p": ""}], tag="before"))
    RESTORE_PARTITIONS.carry_out(table, plan)
    assert ids(table) == {2, 3, 4, 5}
    put(table, [(1, None)])
    bare = get_table(tmp_path).copy({"file-index.bloom-filter.columns": "p"})
    plan = reread(plan_file_index(None, bare, partitions=[{"p": " "}]))
    assert [group.name for group in plan.groups] == ["p=' ' bucket 0"]
    assert apply_file_index(None, bare, plan).written_files == 1


def test_an_expiry_names_them_apart(tmp_path: Path) -> None:
    options = {"partition.expiration-time": "1 d", "partition.expiration-strategy": "update-time"}
    table = filled(tmp_path, 1, options)
    later = dt.datetime.now() + dt.timedelta(days=3)
    would = expire_partitions(table, dry_run=True, now=later)
    assert sorted(map(str, would.expired)) == ["p=' '", "p=''", f"p='{NULL_NAME}'", f"p={NULL_NAME}", "p=x"]
    by_values = table.copy({"partition.expiration-strategy": "values-time"})
    assert len(expire_partitions(by_values, dry_run=True, now=later).without_time) == 5
    plan = reread(plan_expire_partitions(table, expire_strategy="update-time"))
    assert plan.groups == ()
    apply_expire_partitions(table, plan)
    assert ids(table) == {1, 2, 3, 4, 5}
    assert drop_partitions(table, would.expired[:2]).files == 2, "what a report names is taken back"


def test_a_mark_is_of_the_folder(tmp_path: Path) -> None:
    table = filled(tmp_path, 1)
    for text in (NULL_NAME, None, "", " "):
        report = mark_partition_done(table, [{"p": text}])
        assert report.partitions == (f"p={NULL_NAME}",)
    assert (Path(table.location) / f"p={NULL_NAME}" / "_SUCCESS").exists()


def test_a_trigger_names_the_partition_that_fires(tmp_path: Path) -> None:
    table = filled(tmp_path, 1)
    for _ in range(3):
        put(table, [(1, None)])
    need = judge(table, table_shape(table), Triggers(sorted_runs=50, small_files=4))
    assert [one.by_name() for one in need.partitions] == [{"p": None}]
    compact(None, table, full=True, partitions=need.partitions)
    assert files(table)[NULL_NAME] == 1


def test_reads_of_chosen_partitions(tmp_path: Path) -> None:
    table = filled(tmp_path, 1)

    def read(text: str) -> list[int]:
        return table.to_arrow(["id"], None, {"scan.partitions": text})["id"].to_pylist()

    assert (read("p='__DEFAULT_PARTITION__'"), read("p=x")) == ([4], [5])
    with pytest.raises(OptionError, match="may mean several partitions"):
        read(f"p={NULL_NAME}")
    drop_partitions(table, [{"p": text} for text in ("", " ", f"'{NULL_NAME}'")])
    assert read(f"p={NULL_NAME}") == [1]
