"""What of a snapshot a plan looks at: levels, partitions, files by their age, buckets."""

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, SetOption, UpdateColumnType
from maintenance.errors import UnsupportedError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.metadata.manifests import Manifests
from maintenance.operations.compaction.compact import compact
from maintenance.predicate.tree import Compare
from maintenance.scan.plan import ScanPlan, ScanSource, plan_scan
from tests.tables import create_table, get_table, keyed, live, live_files, open_warehouse, splits_of


def planned(table: CatalogTable, source: ScanSource | None = None, files_since: int | None = None) -> list[str]:
    """Names of the files of a plan."""
    plan = plan_scan(source or table.scan_source(), table.latest_snapshot(), None, files_since)
    return sorted(file.file_name for split in splits_of(plan) for file in split.files)


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> CatalogTable:
    """A file on the top level and one on level 0."""
    table = create_table(tmp_path_factory.mktemp("levels"))
    table.write_arrow(keyed({1: "a"}))
    compact(None, table, full=True)
    table.write_arrow(keyed({2: "b"}))
    return table


def test_files_of_one_level(levels: CatalogTable) -> None:
    by_level = {file.level: file.file_name for file in live_files(levels)}
    source = levels.scan_source()
    assert planned(levels) == sorted(by_level.values())
    for level, name in by_level.items():
        assert planned(levels, replace(source, level=level)) == [name]
    assert planned(levels, replace(source, level=3)) == []
    assert planned(levels, replace(source, level_from=1)) == [by_level[5]]
    assert planned(levels, replace(source, level_from=5)) == [by_level[5]]
    assert planned(levels, replace(source, level_from=6)) == []


@pytest.mark.parametrize(
    "options", [{"deletion-vectors.enabled": "true"}, {"merge-engine": "first-row"}], ids=["vectors", "first-row"]
)
def test_level_0_waits_for_its_compaction(tmp_path: Path, options: dict[str, str]) -> None:
    table = create_table(tmp_path, options=options)
    table.write_arrow(keyed({1: "a"}))
    assert planned(table) == []
    source = table.scan_source()
    assert len(planned(table, replace(source, level_from=0))) == 1
    compact(None, table, full=True)
    assert [file.level for file in live_files(table)] == [5]
    assert len(planned(table)) == 1


def test_partitions_that_are_to_be_left_out_are_not_planned(tmp_path: Path) -> None:
    table = create_table(tmp_path, [("p", "INT"), ("a", "INT")], (), partition_keys=["p"])
    table.write_arrow(pa.table({"p": pa.array([1, 2], pa.int32()), "a": pa.array([1, 2], pa.int32())}))
    source = table.scan_source()
    plan: ScanPlan = plan_scan(source, table.latest_snapshot(), None)
    one, two = splits_of(plan)
    rest = plan_scan(replace(source, left_out=frozenset({one.partition})), table.latest_snapshot(), None)
    assert rest.splits == (two,)


def test_files_made_before_the_given_time_are_not_planned(levels: CatalogTable) -> None:
    moments = sorted(file.creation_time or 0 for file in live_files(levels))
    # Files have the local time of their writer.
    offset = dt.datetime.now().astimezone().utcoffset()
    assert offset is not None
    shift = int(offset.total_seconds() * 1000)
    assert len(planned(levels, files_since=moments[0] - shift)) == 2
    assert len(planned(levels, files_since=moments[1] - shift)) == 1
    assert planned(levels, files_since=moments[1] - shift + 1) == []
    assert len(planned(levels, files_since=-(10**18))) == 2
    assert planned(levels, files_since=10**18) == []


def test_files_that_do_not_say_when_they_were_made(levels: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    real = type(levels.manifests).live_entries

    def without_times(self: Manifests, *given: Any) -> list[ManifestEntry]:
        actual = real(self, *given)
        return [replace(entry, file=replace(entry.file, creation_time=None)) for entry in actual]

    monkeypatch.setattr(type(levels.manifests), "live_entries", without_times)
    with pytest.raises(UnsupportedError, match="does not say when it was made"):
        planned(levels, files_since=0)


def test_no_bucket_is_ruled_out_where_the_bucket_key_had_another_type(tmp_path: Path) -> None:
    columns = [("k", "INT"), ("v", "STRING")]
    table = create_table(tmp_path, columns, (), {"bucket": "8", "bucket-key": "k"})
    table.write_arrow(pa.table({"k": pa.array(range(64), pa.int32()), "v": ["x"] * 64}))

    def buckets(of: CatalogTable) -> int:
        plan = plan_scan(of.scan_source(), of.latest_snapshot(), Compare("=", "k", 7))
        return plan.live_files

    assert buckets(table) == 1
    catalog = open_warehouse(tmp_path)
    catalog.alter_table("db.t", [SetOption("snapshot.num-retained.max", "50")])
    assert buckets(get_table(tmp_path)) == 1
    catalog.alter_table("db.t", [UpdateColumnType(("k",), "BIGINT")])
    assert buckets(get_table(tmp_path)) == 8


@pytest.mark.parametrize(("millis", "made_since"), [(10**18, False), (-(10**18), True), (0, True)])
def test_moments_beyond_all_calendars(levels: CatalogTable, millis: int, made_since: bool) -> None:
    assert len(planned(levels, files_since=millis)) == (2 if made_since else 0)


def test_rows_that_wait_for_a_bucket_are_not_planned(tmp_path: Path) -> None:
    options = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"}
    table = create_table(tmp_path, options=options)
    table.write_arrow(keyed(dict.fromkeys(range(9), "a")))
    assert live_files(table)
    assert planned(table) == []
    compact(None, table, full=True)
    table = get_table(tmp_path)
    table.write_arrow(keyed({1: "b"}))
    real = [entry.file.file_name for entry in live(table) if entry.bucket >= 0]
    assert len(real) < len(live_files(table))
    assert planned(table) == sorted(real)
