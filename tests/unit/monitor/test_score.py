"""The health of a table: what its parts measure, how many points they have, and where their targets come from."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.monitor.score import (
    FAR_OVER,
    GOOD,
    MEASURES,
    OVER,
    HealthRecord,
    Held,
    Part,
    health_record,
    health_targets,
)
from maintenance.operations.compaction.compact import compact
from tests.small_tables import put, small_table
from tests.tables import live

NOW = datetime(2026, 11, 27, tzinfo=UTC)


def record(table: CatalogTable, **given: Any) -> HealthRecord:
    return health_record(table, datetime.now(UTC), **given)


def values(found: HealthRecord) -> dict[str, float]:
    return {part.name: part.value for part in found.parts}


def part(found: HealthRecord, name: str) -> Part:
    (one,) = [part for part in found.parts if part.name == name]
    return one


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_points_fall_from_the_target_on(value: float, target: float) -> None:
    one = Part(MEASURES["small_files"], value, target)
    assert 0 <= one.points <= 100
    assert (one.points == 100) == (value <= target or target / value == 1)
    assert (one.state == GOOD) == (value <= target)
    assert (one.state == FAR_OVER) == (value > target and value > 2 * target)


def test_the_score_is_the_weighted_mean_of_the_points() -> None:
    parts = (Part(MEASURES["sorted_runs"], 10, 5), Part(MEASURES["small_files"], 1, 10))
    found = HealthRecord(1, NOW, parts)
    assert [one.state for one in parts] == [OVER, GOOD]
    assert found.score == round((15 * 50 + 10 * 100) / 25)
    assert [one.name for one in found.worst] == ["sorted_runs"]
    assert HealthRecord(1, NOW, (Part(MEASURES["tag_bytes"], 1001, 1000), *[parts[1]] * 99)).score == 99


def test_a_keyed_table_has_its_runs_and_files_measured(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"bucket": "1", "num-sorted-run.compaction-trigger": "3"})
    for number in range(4):
        put(table, {number: "a"}, [99])
    found = record(table)
    assert values(found) == {
        "sorted_runs": 4,
        "level0_files": 4,
        "small_files": 4,
        "delete_share": 0.5,
        "manifests": 4,
        "old_snapshots": 0,
        "bucket_bytes": sum(entry.file.file_size for entry in live(table)),
        "bucket_skew": 1.0,
    }
    assert part(found, "sorted_runs").target == 3
    assert part(found, "level0_files").target == 6
    compact(None, table, full=True)
    after = record(table)
    assert values(after)["sorted_runs"] == 1
    assert values(after)["delete_share"] == 0
    assert after.score == 100 > found.score


@pytest.mark.parametrize("options", [{"deletion-vectors.enabled": "true"}, {"merge-engine": "first-row"}])
def test_seconds_count_for_which_rows_are_invisible(tmp_path: Path, options: dict[str, str]) -> None:
    table = small_table(tmp_path, options)
    put(table, {1: "a"})
    first = table.snapshots.get(1).committed_at
    put(table, {2: "a"})
    found = health_record(table, first + timedelta(seconds=90))
    assert values(found)["invisible_seconds"] == 90
    late = health_record(table, first + timedelta(hours=1))
    assert part(late, "invisible_seconds").state == FAR_OVER
    compact(None, table)
    assert values(record(table))["invisible_seconds"] == 0


def test_changes_wait_for_their_changelog(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"changelog-producer": "lookup"})
    put(table, {1: "a"})
    put(table, {2: "a"})
    found = health_record(table, table.snapshots.get(1).committed_at + timedelta(minutes=5))
    assert (values(found)["changelog_commits"], values(found)["changelog_seconds"]) == (2, 300)


def test_deleted_rows_count_by_their_vectors(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"deletion-vectors.enabled": "true"}, primary_key=False)
    put(table, dict.fromkeys(range(10), "a"))
    table.delete("k < 3")
    assert values(record(table))["vector_share"] == 0.3
    assert "sorted_runs" not in values(record(table))
    assert "bucket_bytes" not in values(record(table))


def test_snapshots_past_their_retention_count(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"snapshot.num-retained.min": "2", "snapshot.time-retained": "1 h"})
    for number in range(6):
        put(table, {number: "a"})
    later = datetime.now(UTC) + timedelta(hours=2)
    assert values(health_record(table, later))["old_snapshots"] == 4
    assert values(record(table))["old_snapshots"] == 0
    most = table.copy({"snapshot.num-retained.max": "4"})
    assert values(record(most))["old_snapshots"] == 2


def test_one_bucket_that_is_much_larger_than_the_others_is_skewed(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"bucket": "4", "bucket-key": "k", "target-file-size": "1 kb"}, primary_key=False)
    table.write_arrow(pa.table({"k": pa.array([1] * 500, pa.int64()), "v": [str(n) * 50 for n in range(500)]}))
    put(table, dict.fromkeys(range(40), "a"))
    assert part(record(table), "bucket_skew").value > 2


def test_targets_and_what_holds_bytes_can_be_given(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    size = sum(entry.file.file_size for entry in live(table))
    found = record(table, targets={"sorted_runs": 0.5}, held=Held(tags=2 * size, consumers=0, orphans=size))
    assert part(found, "sorted_runs").target == 0.5
    assert [one.name for one in found.worst] == ["sorted_runs", "orphan_bytes", "tag_bytes"]


def test_a_table_without_commits_has_no_parts(tmp_path: Path) -> None:
    found = record(small_table(tmp_path))
    assert (found.score, found.parts) == (100, ())


def test_targets_that_are_set_are_kept_to_or_the_next_step_is_said(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    for number in range(4):
        put(table, {1: f"{number}"})
    targets = {"sorted_runs": 3.0, "bucket_bytes": 1 << 30}
    failed = health_targets(record(table, targets=targets), targets)
    assert not failed.passed
    assert failed.summary == "sorted_runs is 4 sorted runs, and its target 3 sorted runs"
    assert failed.fix.startswith("Compact the table.")
    assert "2 parts" in health_targets(record(table, targets={**targets, "sorted_runs": 4.0}), targets).summary
    assert health_targets(record(table, targets={"sorted_runs": 1.0}), {}).passed


def test_each_part_has_a_next_step() -> None:
    for measure in MEASURES.values():
        found = HealthRecord(1, datetime.now(UTC), (Part(measure, 2.0, 1.0),))
        assert health_targets(found, {measure.name: 1.0}).fix.endswith("Or set another target, in health.targets.")
