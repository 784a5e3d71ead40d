"""How many files of a long history are opened: what is asked again and again opens few, plans open each once."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, Schema, open_catalog
from maintenance.format.metadata.snapshot import CommitKind, serialize_snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.fs.local_storage import LocalStorage
from maintenance.monitor.backlog import COUNTED_COMMITS, BacklogLimits, changelog_lag, commits_without_changelog
from maintenance.monitor.retention import retention_blockers
from maintenance.monitor.score import health_record
from maintenance.monitor.triggers import Triggers, judge
from maintenance.operations import create_tag, explain, held_bytes, what_if
from maintenance.operations.expiry.kept_snapshots import kept_snapshots
from maintenance.operations.expiry.rules import RetentionChoice
from maintenance.table.shape import table_shape

SNAPSHOTS, TAGS = 2 * COUNTED_COMMITS, 40


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> CatalogTable:
    """A table of many snapshots, no change of which is in a changelog."""
    # Nothing that one test has read is there for the next.
    catalog = open_catalog({"warehouse": str(tmp_path_factory.mktemp("long")), "cache-enabled": "false"})
    catalog.create_database("d")
    options = {"bucket": "1", "write-only": "true", "changelog-producer": "lookup"}
    catalog.create_table("d.t", Schema([("id", "BIGINT NOT NULL")], primary_keys=["id"], options=options))
    made = catalog.get_table("d.t")
    assert isinstance(made, CatalogTable)
    made.write_arrow(pa.table({"id": [1]}))
    first = made.snapshots.get(1)
    for number in range(2, SNAPSHOTS + 1):
        data = serialize_snapshot(replace(first, id=number, time_millis=first.time_millis + number))
        made.file_io.write_bytes(made.paths.snapshot(number), data)
    made.snapshots.write_hint("LATEST", SNAPSHOTS)
    for number in range(1, TAGS + 1):
        made.tags.publish(f"t{number}", Tag(made.snapshots.get(number)))
    return made


@contextmanager
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Counts the files that are opened, by their names."""
    counts: Counter[str] = Counter()
    read = LocalStorage.read_bytes

    def counted(self: LocalStorage, path: str) -> bytes:
        counts[os.path.basename(path)] += 1
        return read(self, path)

    with monkeypatch.context() as patched:
        patched.setattr(LocalStorage, "read_bytes", counted)
        yield counts


def of_kind(counts: Counter[str], kind: str) -> int:
    return sum(count for name, count in counts.items() if name.startswith(kind))


def test_a_lag_of_the_changelog_is_counted_as_far_as_somebody_asks(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(monkeypatch) as counts:
        found = commits_without_changelog(table, most=7)
    assert ([snapshot.id for snapshot in found.waiting], found.last, found.is_whole) == (
        list(range(SNAPSHOTS, SNAPSHOTS - 7, -1)), None, False,
    )  # fmt: skip
    assert of_kind(counts, "snapshot-") <= 10
    whole = commits_without_changelog(table, most=SNAPSHOTS)
    assert (len(whole.waiting), whole.is_whole) == (SNAPSHOTS, True)


def test_what_looks_at_a_lag_again_and_again_reads_a_part_of_the_history(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(monkeypatch) as counts:
        judgement = changelog_lag(table, BacklogLimits())
        assert judgement.summary.startswith(f"at least {COUNTED_COMMITS} commits came after the last changelog")
        assert not judgement.passed
    assert of_kind(counts, "snapshot-") <= COUNTED_COMMITS + 10
    with opened(monkeypatch) as counts:
        values = {part.name: part.value for part in health_record(table, datetime.now(UTC)).parts}
        assert values["changelog_commits"] == COUNTED_COMMITS
    assert of_kind(counts, "snapshot-") <= COUNTED_COMMITS + 30
    with opened(monkeypatch) as counts:
        need = judge(table, table_shape(table), Triggers(changelog_lag=20))
        assert need.reason == "at least 20 commits are not in a changelog yet, the trigger is 20"
    assert of_kind(counts, "snapshot-") <= 30


def test_a_target_beyond_the_usual_count_is_counted_up_to(table: CatalogTable) -> None:
    record = health_record(table, datetime.now(UTC), {"changelog_commits": COUNTED_COMMITS + 100})
    (part,) = [part for part in record.parts if part.name == "changelog_commits"]
    assert (part.value, part.state) == (COUNTED_COMMITS + 101, "over target")


def test_many_snapshots_without_rows_end_the_count(tmp_path: Path) -> None:
    catalog = open_catalog({"warehouse": str(tmp_path)})
    catalog.create_database("d")
    catalog.create_table("d.t", Schema([("id", "BIGINT NOT NULL")], primary_keys=["id"], options={"bucket": "1"}))
    table = catalog.get_table("d.t")
    assert isinstance(table, CatalogTable)
    table.write_arrow(pa.table({"id": [1]}))
    first = table.snapshots.get(1)
    for number in range(2, 20):
        compacted = replace(first, id=number, commit_kind=CommitKind.COMPACT)
        table.file_io.write_bytes(table.paths.snapshot(number), serialize_snapshot(compacted))
    table.snapshots.write_hint("LATEST", 19)
    assert not commits_without_changelog(table, most=2).is_whole
    found = commits_without_changelog(table, most=20)
    assert ([snapshot.id for snapshot in found.waiting], found.is_whole) == ([1], True)


def test_a_tag_of_a_snapshot_that_is_there_opens_no_other_tag(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(monkeypatch) as counts:
        create_tag(table, "new")
    table.tags.remove("new")
    assert {name for name in counts if name.startswith("tag-")} <= {"tag-new"}


def test_a_forecast_for_several_moments_opens_each_snapshot_and_tag_once(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    uncached = table.copy({})
    with opened(monkeypatch) as counts:
        losses = what_if(uncached, now=datetime.now(UTC) + timedelta(days=1)).losses
    assert [len(loss.snapshots) for loss in losses] == [SNAPSHOTS - 10] * 4
    assert max(counts[f"snapshot-{n}"] for n in range(2, SNAPSHOTS)) == 1
    assert max(counts[f"tag-t{n}"] for n in range(1, TAGS + 1)) == 1


def test_who_holds_what_opens_each_snapshot_once_however_many_consumers_there_are(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.consumers.record("slow", 5)
    table.consumers.record("fast", SNAPSHOTS)
    with opened(monkeypatch) as counts:
        held = held_bytes(table)
    for name in ("slow", "fast"):
        table.consumers.remove([name])
    assert {one.kind for one in held} == {"live", "snapshots", "tag", "consumer"}
    assert max(counts[f"snapshot-{n}"] for n in range(2, SNAPSHOTS)) == 1


def test_what_keeps_a_file_opens_each_snapshot_a_few_times(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(monkeypatch) as counts:
        found = explain(table, snapshot_id=7)
    assert [keeper.holder for keeper in found.kept_by] == ["snapshot 7", "tag 't7'"]
    assert max(counts[f"snapshot-{n}"] for n in range(20, SNAPSHOTS)) <= 2


def test_what_is_kept_is_known_from_a_few_snapshots(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    first = table.snapshots.get(1).time_millis
    for due in (0, 1, 17, SNAPSHOTS - 1):
        older_than = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=first + due + 2)
        with opened(monkeypatch) as counts:
            found = kept_snapshots(table, datetime.now(UTC), RetentionChoice(SNAPSHOTS, 1, older_than))
        assert (found.due, found.count, found.tags) == (due, SNAPSHOTS, TAGS)
        assert of_kind(counts, "snapshot-") <= 60
        assert max((counts[f"tag-t{number}"] for number in range(1, TAGS + 1)), default=0) <= 1


def test_of_many_tags_the_oldest_are_examined_and_all_are_counted(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = [f"more{number}" for number in range(100)]
    for number, name in enumerate(added):
        table.tags.publish(name, Tag(table.snapshots.get(500 + number)))
    try:
        with opened(monkeypatch) as counts:
            found = retention_blockers(table, datetime.now(UTC) + timedelta(days=30))
    finally:
        for name in added:
            table.tags.remove(name)
    assert (len(found.details["blockers"]), found.details["holders"]) == (64, TAGS + 100)
    assert [row["name"] for row in found.details["blockers"]][:2] == ["t1", "t2"]
    assert found.summary.startswith("tag 't1' holds snapshot 1, ")
    assert f"; {TAGS + 99} more hold snapshots older than" in found.summary
    assert of_kind(counts, "tag-") == TAGS + 100
