"""Global indexes that we and pypaimon build, read and keep."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.errors import UnsupportedError
from maintenance.operations.checks.explain_scan import explain_scan
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.databases.clone import clone
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.indexes.create_global_index import create_global_index
from maintenance.operations.indexes.drop_global_index import drop_global_index
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files
from maintenance.operations.rows.drop_partitions import drop_partitions
from tests.pypaimon.process import run_script
from tests.pypaimon.test_read_by_pypaimon import EVOLVING, pypaimon
from tests.tables import create_table, files_on_disk, get_table, splits_of

__all__ = ["pypaimon"]
FIELDS = [("id", "INT"), ("n", "BIGINT"), ("s", "STRING"), ("d", "DOUBLE"), ("t", "TIMESTAMP(6)"), ("v", "STRING")]
FUTURE = datetime(2099, 1, 1, tzinfo=UTC)
# Column, pypaimon's predicate and its values, our condition.
FILTERS: list[tuple[str, str, list[Any], str]] = [
    ("n", "equal", [7], "n = 7"),
    ("n", "greater_than", [17], "n > 17"),
    ("n", "is_null", [], "n IS NULL"),
    ("n", "is_in", [[1, 3, 99]], "n IN (1, 3, 99)"),
    ("s", "equal", ["s2"], "s = 's2'"),
    ("s", "startswith", ["s1"], "s LIKE 's1%'"),
    ("s", "not_equal", ["s3"], "s != 's3'"),
    ("s", "is_not_null", [], "s IS NOT NULL"),
]


def rows(first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    moment = datetime(2020, 1, 1)
    return pa.table(
        {
            "id": pa.array(ids, pa.int32()),
            "n": pa.array([None if n % 5 == 4 else n % 20 for n in ids], pa.int64()),
            "s": [None if n % 7 == 6 else f"s{n % 13}" for n in ids],
            "d": [float(n % 3) if n % 4 else -0.0 for n in ids],
            "t": pa.array([moment + timedelta(microseconds=n) for n in ids], pa.timestamp("us")),
            "v": [f"v{n}" for n in ids],
        }
    )


def run(*arguments: str) -> str:
    return run_script("index_table.py", *arguments)


def ids(table: CatalogTable, where: str, **options: str) -> list[int]:
    actual: list[int] = sorted(table.copy(options).to_arrow(["id"], where=where).column("id").to_pylist())
    return actual


def check_filters(warehouse: Path, *, theirs: bool = True) -> None:
    """We find the same rows with indexes and without, and pypaimon finds them through the indexes."""
    table = get_table(warehouse)
    expected = [ids(table, where, **{"global-index.enabled": "false"}) for *_, where in FILTERS]
    assert [ids(table, where) for *_, where in FILTERS] == expected
    assert fsck(table.file_io, table.location, deep=True).faults == ()
    if theirs:
        asked = [[column, method, *values] for column, method, values, _ in FILTERS]
        document = json.loads(run(str(warehouse), "read", json.dumps(asked)))
        assert document == [[each, True] for each in expected]


def table_of(warehouse: Path, **options: str) -> CatalogTable:
    return create_table(warehouse, FIELDS, (), {"bucket": "-1", **EVOLVING, "target-file-row-num": "40", **options})


def test_indexes_of_ours_are_read_by_pypaimon(pypaimon: Path, tmp_path: Path) -> None:
    table = table_of(tmp_path)
    table.write_arrow(rows(0, 100))
    assert create_global_index(None, table, "n", "btree").files == 1
    options = {"sorted-index.records-per-range": "30"}
    assert create_global_index(None, table, "s", "bitmap", options=options).files == 4
    check_filters(tmp_path)
    (plan, _) = table.plan(where="n = 7")
    assert sum(len(rows) for split in splits_of(plan) for rows in split.candidates.values()) == 5
    verdicts = explain_scan(table, "n = 7").files
    assert [verdict.by for verdict in verdicts] == [None] * 3
    beyond = explain_scan(table, "t IS NOT NULL AND s = 's12' AND n = 12").files
    assert {verdict.by for verdict in beyond} == {None, "global index"}
    # Rows behind the index are found, and covered by the next creation.
    get_table(tmp_path).write_arrow(rows(100, 30))
    check_filters(tmp_path, theirs=False)
    assert create_global_index(None, get_table(tmp_path), "n", "btree").rows == 30
    assert create_global_index(None, get_table(tmp_path), "s", "bitmap").rows == 30
    assert create_global_index(None, get_table(tmp_path), "s", "bitmap").snapshot_id is None
    check_filters(tmp_path)


@pytest.mark.parametrize(("column", "index_type"), [("n", "bitmap"), ("s", "btree")])
def test_indexes_of_pypaimon_are_kept(pypaimon: Path, tmp_path: Path, column: str, index_type: str) -> None:
    """Compactions, deletions, expiry and orphan removal leave them right; new values of the column are refused."""
    table = table_of(tmp_path, **{"deletion-vectors.enabled": "true"})
    table.write_arrow(rows(0, 100))
    run(str(tmp_path), "create", column, index_type)
    for name, kind in (("n", "btree"), ("s", "bitmap")):
        if name != column:
            create_global_index(None, get_table(tmp_path), name, kind)
    check_filters(tmp_path)
    get_table(tmp_path).update({"v": "'new'"}, "n = 3")
    get_table(tmp_path).delete("n = 7 AND id < 50")
    compact(None, get_table(tmp_path), full=True)
    expire_snapshots(get_table(tmp_path), retain_max=1, retain_min=1, older_than=FUTURE)
    before = files_on_disk(table)
    remove_orphan_files(None, get_table(tmp_path), minimum_age=timedelta(0))
    assert files_on_disk(table) == before
    check_filters(tmp_path)
    with pytest.raises(UnsupportedError, match=f"column '{column}' has a global index of type {index_type}"):
        get_table(tmp_path).update({column: "NULL"}, "id = 1")
    assert files_on_disk(table) == before
    dropping = get_table(tmp_path).copy({"global-index.column-update-action": "drop_partition_index"})
    dropping.update({column: "NULL"}, "id = 1")
    snapshot = get_table(tmp_path).latest_snapshot()
    assert snapshot is not None
    left = [e for e in table.manifests.read_index(snapshot) if e.global_index is not None]
    assert len({e.index_type for e in left}) == 1
    check_filters(tmp_path, theirs=False)
    other = {"n": ("s", "bitmap"), "s": ("n", "btree")}[column]
    assert drop_global_index(get_table(tmp_path), *other, dry_run=True).files == len(left)
    assert drop_global_index(get_table(tmp_path), *other).files == len(left)
    expire_snapshots(get_table(tmp_path), retain_max=1, retain_min=1, older_than=FUTURE)
    assert not [path for path in files_on_disk(table) if "global-index" in path]
    check_filters(tmp_path, theirs=False)


def test_indexes_go_with_their_partitions_and_into_clones(pypaimon: Path, tmp_path: Path) -> None:
    options = {"bucket": "-1", **EVOLVING, "global-index.external-path": str(tmp_path / "elsewhere")}
    table = create_table(tmp_path, [("id", "INT"), ("n", "INT"), ("p", "STRING")], (), options, partition_keys=("p",))
    numbers = pa.array(range(10), pa.int32())
    table.write_arrow(pa.table({"id": numbers, "n": numbers, "p": [f"p{n % 2}" for n in range(10)]}))
    assert create_global_index(None, get_table(tmp_path), "n", "btree").files == 2
    assert len(list((tmp_path / "elsewhere").iterdir())) == 2
    target = open_catalog({"warehouse": str(tmp_path / "other")})
    target.create_database("db")
    clone(get_table(tmp_path), target, "db.t")
    drop_partitions(get_table(tmp_path), [{"p": "p1"}])
    expire_snapshots(get_table(tmp_path), retain_max=1, retain_min=1, older_than=FUTURE)
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1
    assert ids(get_table(tmp_path), "n > 6") == [8]
    copied = get_table(tmp_path / "other")
    assert ids(copied, "n > 6") == [7, 8, 9]
    assert len(list((tmp_path / "other" / "db.db" / "t" / "index").iterdir())) == 2
    assert fsck(copied.file_io, copied.location, deep=True).faults == ()
