"""Every reason for which a scan reads a file or leaves it out."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.operations.compaction.compact import compact
from maintenance.scan.explain import BUCKET, INDEX, KEY_STATISTICS, PARTITION, STATISTICS, explain_plan, explained
from maintenance.scan.plan import ScanPlan
from tests.tables import create_table, keyed, splits_of

INDEXED = {"file-index.bitmap.columns": "s", "file-index.in-manifest-threshold": "1 mb"}
Verdicts = list[tuple[bool, str | None, str]]


def snapshot_of(table: CatalogTable) -> Snapshot:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return snapshot


def verdicts(table: CatalogTable, where: str, options: Mapping[str, str] | None = None) -> Verdicts:
    """Whether each file is read, what left it out, and why; and that the plan has exactly the files that are read."""
    seen = table.copy(options or {})
    predicate = seen.predicate(where)
    actual = explain_plan(seen.scan_source(), snapshot_of(seen), predicate)
    plan: ScanPlan = seen.plan(None, predicate)[0]
    planned = {file.file_name for split in splits_of(plan) for file in split.files}
    assert planned == {verdict.file_name for verdict in actual if verdict.kept}
    return [(verdict.kept, verdict.by, verdict.reason) for verdict in actual]


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> CatalogTable:
    """Partitions 1 and 2 of four rows each, with a bitmap of `s`."""
    columns = [("day", "INT"), ("n", "INT"), ("s", "STRING")]
    table = create_table(tmp_path_factory.mktemp("days"), columns, (), INDEXED, partition_keys=("day",))
    for day in (1, 2):
        numbers = pa.array(range(10 * day, 10 * day + 4), pa.int32())
        table.write_arrow(pa.table({"day": pa.array([day] * 4, pa.int32()), "n": numbers, "s": ["a", "b", "a", "c"]}))
    return table


@pytest.mark.parametrize(
    ("where", "first", "second"),
    [
        (
            "day = 2",
            (False, PARTITION, "left out by its partition"),
            (True, None, "its file index excludes no row"),
        ),
        ("n >= 20", (False, STATISTICS, "left out by its statistics"), (True, None, "its file index excludes no row")),
        (
            "day = 1 AND s = 'a'",
            (True, None, "2 of 4 rows may match by bitmap of s"),
            (False, PARTITION, "left out by its partition"),
        ),
        ("s = 'bb'", (False, INDEX, "no row matches by bitmap of s"), (False, INDEX, "no row matches by bitmap of s")),
    ],
)
def test_files_of_a_table_without_a_key(
    days: CatalogTable, where: str, first: tuple[bool, str | None, str], second: tuple[bool, str | None, str]
) -> None:
    assert verdicts(days, where) == [first, second]


def test_indexes_that_are_not_used(days: CatalogTable) -> None:
    off = {"file-index.read.enabled": "false"}
    assert verdicts(days, "s = 'a'", off) == [(True, None, "file indexes are not used")] * 2


def test_rows_of_each_file(days: CatalogTable) -> None:
    plan = explain_plan(days.scan_source(), snapshot_of(days), days.predicate("s = 'a' AND n < 20"))
    assert [(v.partition, v.bucket, v.row_count, v.rows) for v in plan] == [("day=1", 0, 4, 2), ("day=2", 0, 4, None)]
    kept, skipped = plan
    assert explained(plan).splitlines() == [
        "1 of 2 files are read",
        f"read day=1/bucket-0/{kept.file_name}: 2 of 4 rows may match by bitmap of s",
        f"skip day=2/bucket-0/{skipped.file_name}: left out by its statistics",
    ]


def test_nothing_is_said_of_a_table_without_snapshots(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    assert explain_plan(table.scan_source(), None, None) == ()


def test_files_that_hold_versions_of_the_same_rows(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a", 5: "b"}))
    table.write_arrow(keyed({4: "a", 9: "b"}))
    together = (True, None, "other files may hold versions of its rows")
    assert verdicts(table, "v = 'a'") == [together, together]
    by_key = (False, KEY_STATISTICS, "left out by its statistics of the key")
    assert verdicts(table, "id = 9") == [by_key, together]
    assert verdicts(table, "v = 'x'") == [(False, STATISTICS, "left out by its statistics")] * 2
    compact(None, table, full=True)
    assert verdicts(table, "v = 'a'") == [(True, None, "it has no file index")]


def test_files_of_other_buckets_are_left_out_by_their_bucket(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "4"})
    table.write_arrow(keyed({key: str(key) for key in range(40)}))
    actual = verdicts(table, "id = 7")
    assert sorted(by or "" for _, by, _ in actual) == ["", BUCKET, BUCKET, BUCKET]
    assert (False, BUCKET, "left out by its bucket") in actual
