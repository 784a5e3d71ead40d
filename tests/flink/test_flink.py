"""A real Flink and this engine on the same tables; every row is compared with a model.

One streaming job writes a table of every kind. Another follows two changelogs that this engine makes, with a consumer
id. Meanwhile this engine compacts, makes the changelogs, expires snapshots, and creates and deletes tags. Flink is
killed once and goes on from its checkpoints. At the end the two compact alternately.
"""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.identity import OPERATION_PROPERTY
from maintenance.errors import CorruptFileError
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.fs import file_io
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.expiry.expire_snapshots import ExpireSnapshotsReport, expire_snapshots
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.reset_consumer import reset_consumer
from tests.flink.lake import CONSUMER, FOLLOWED, NAMES, SINKS, Lake, Row, follow_job, in_order, sink_job
from tests.flink.process import flink_process, listening_addresses
from tests.java.process import JavaProcess

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("flink_jars")]

WRITING, FOLLOWING = "writing", "following"
_LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
# Before the kill, and after it.
_ROUNDS = 6
_DEADLINE_SECONDS = 900.0


@dataclass
class Maintenance:
    """What this engine did meanwhile."""

    lake: Lake
    compactions: list[CompactReport] = field(default_factory=list)
    expiries: list[ExpireSnapshotsReport] = field(default_factory=list)
    tags: int = 0

    def round(self, number: int) -> None:
        """Each table is compacted, gets its changelog and a tag, and loses old snapshots and tags."""
        for place, name in enumerate((*SINKS, *(f"seen_{name}" for name in FOLLOWED))):
            table = self.lake.table(name)
            if table.latest_snapshot() is None:
                continue
            if name in FOLLOWED:
                self.compactions.append(produce_changelog(None, table, max_retries=50))
            else:
                self.compactions.append(compact(None, table, full=(number + place) % 3 == 0, max_retries=50))
            if (number + place) % 3 == 1:
                create_tag(table, f"round-{number}", ignore_if_exists=True)
                self.tags += 1
                for old in table.tags.names()[:-2]:
                    delete_tag(table, old)
            self.expiries.append(expire_snapshots(table, retain_max=4, retain_min=2))


@dataclass
class Story:
    """What happened until both jobs had brought everything and were ended."""

    lake: Lake
    flink: JavaProcess
    done: Maintenance
    checkpoints_at_kill: int
    addresses: set[str]


def check_running(flink: JavaProcess) -> None:
    for job in (WRITING, FOLLOWING):
        status = flink.status(job)
        assert status == "RUNNING", f"{job}: {status}"


def until(what: str, reached: Callable[[], bool]) -> Iterator[None]:
    """Yields again and again until something is reached; fails after a long time."""
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while not reached():
        assert time.monotonic() < deadline, f"not reached: {what}"
        yield
        time.sleep(0.2)


@pytest.fixture(scope="module")
def patient() -> Iterator[None]:
    """Files that are written in two steps are waited for, as outside of tests: Flink writes those of consumers so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_io, "_SETTLED_SECONDS", 10.0)
        yield


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, flink_jars: None, patient: None) -> Iterator[Story]:
    warehouse, folder = tmp_path_factory.mktemp("lake"), tmp_path_factory.mktemp("flink")
    lake = Lake(warehouse, random.Random(20))
    lake.create()
    done = Maintenance(lake)
    flink = flink_process(warehouse, folder)
    try:
        flink.submit(WRITING, sink_job())
        flink.submit(FOLLOWING, follow_job())
        addresses = listening_addresses(flink.pid)
        for number in range(_ROUNDS):
            one_round(lake, done, flink, number)
        at_kill = min(flink.checkpoints(job) for job in (WRITING, FOLLOWING))
        assert at_kill > 0
        flink.kill()
        mend_consumers(lake)
        lake.write()
        done.round(_ROUNDS)
        flink = flink_process(warehouse, folder)
        flink.submit(WRITING, sink_job(), resume=True)
        flink.submit(FOLLOWING, follow_job(), resume=True)
        for number in range(_ROUNDS, 2 * _ROUNDS):
            one_round(lake, done, flink, number)
        for _ in until("all rows have come", lambda: has_all(lake)):
            check_running(flink)
            done.round(2 * _ROUNDS)
        for job in (WRITING, FOLLOWING):
            flink.cancel(job)
        yield Story(lake, flink, done, at_kill, addresses)
    finally:
        flink.kill()
        shutil.rmtree(folder)


def mend_consumers(lake: Lake) -> None:
    """A kill may leave the file of a consumer empty: an expiry refuses then, and says to reset the consumer."""
    for name in FOLLOWED:
        table = lake.table(name)
        path = Path(table.paths.consumer(CONSUMER))
        if path.exists() and not path.read_bytes():
            with pytest.raises(CorruptFileError, match="Reset the consumer"):
                expire_snapshots(table, retain_max=4, retain_min=2)
            reset_consumer(table, CONSUMER, table.snapshots.earliest_id() or 1)


def one_round(lake: Lake, done: Maintenance, flink: JavaProcess, number: int) -> None:
    """A commit into the sources, a checkpoint of Flink, and a round of maintenance."""
    check_running(flink)
    before = flink.checkpoints(WRITING)
    lake.write()
    for _ in until("a checkpoint", lambda: flink.checkpoints(WRITING) > before):
        check_running(flink)
    done.round(number)


def has_all(lake: Lake) -> bool:
    """Whether every record of the sources is in every sink, and every change of the followed ones has been followed."""
    if any(lake.rows(name) != lake.expected(name) for name in SINKS):
        return False
    return all(lake.net_of_seen(name) == Counter(lake.expected(name)) for name in FOLLOWED)


def rows_of_flink(flink: JavaProcess) -> dict[str, list[Row]]:
    """The rows of all sinks, as Flink reads them: in one job."""
    columns = ", ".join(NAMES)
    actual: dict[str, list[Row]] = {name: [] for name in SINKS}
    for name, *row in flink.query(" UNION ALL ".join(f"SELECT '{n}' AS t, {columns} FROM db.{n}" for n in SINKS)):
        actual[name].append(tuple(row))
    return {name: in_order(rows) for name, rows in actual.items()}


@pytest.fixture(scope="module")
def read_by_flink(story: Story) -> dict[str, list[Row]]:
    return rows_of_flink(story.flink)


@pytest.mark.parametrize("name", SINKS)
def test_every_row_is_there_once(story: Story, read_by_flink: dict[str, list[Row]], name: str) -> None:
    expected = story.lake.expected(name)
    assert len(expected) > 10
    assert story.lake.rows(name) == expected
    assert read_by_flink[name] == expected


@pytest.mark.parametrize("name", FOLLOWED)
def test_the_followed_changelog_adds_up_to_the_table(story: Story, name: str) -> None:
    assert story.lake.net_of_seen(name) == Counter(story.lake.expected(name))
    kinds = set(story.lake.table(f"seen_{name}").to_arrow().column("kind").to_pylist())
    assert kinds == {"+I", "-U", "+U", "-D"}
    table = story.lake.table(name)
    latest, following = table.snapshots.latest_id(), table.consumers.next_snapshots()[CONSUMER]
    assert latest is not None
    assert following <= latest + 1


def test_maintenance_went_on_all_the_while(story: Story) -> None:
    done = story.done
    assert [group for report in done.compactions for group in report.failed] == []
    compacted = {report.table for report in done.compactions if report.snapshot_ids}
    assert compacted >= {f"db.{name}" for name in SINKS}
    assert sum(len(report.expired) for report in done.expiries) > 2 * len(SINKS)
    assert done.tags > len(SINKS)
    assert all(fsck(table.file_io, table.location).healthy for table in map(story.lake.table, SINKS))


def test_flink_wrote_before_and_after_the_kill_and_listens_on_loopback_alone(story: Story) -> None:
    assert story.checkpoints_at_kill > 0
    assert story.flink.checkpoints(WRITING) > story.checkpoints_at_kill
    assert story.addresses
    assert story.addresses <= _LOOPBACK


def test_tags_hold_the_same_for_both(story: Story) -> None:
    columns = ", ".join(NAMES)
    for name in ("deduplicate", "vectors"):
        table = story.lake.table(name)
        tag = table.tags.names()[-1]
        ours = in_order(tuple(row.values()) for row in table.to_arrow(options={"scan.tag-name": tag}).to_pylist())
        theirs = story.flink.query(f"SELECT {columns} FROM db.{name} /*+ OPTIONS('scan.tag-name' = '{tag}') */")
        assert ours == in_order(theirs)
        assert ours


def test_both_compact_alternately_and_no_row_is_lost(story: Story) -> None:
    """Flink's own compaction after ours, and ours after Flink's, each with new rows to compact."""
    lake, flink = story.lake, story.flink
    start = {name: lake.table(name).snapshots.latest_id() or 0 for name in SINKS}
    for turn in range(3):
        for _ in range(3):
            lake.write_sinks()
        for name in SINKS:
            if turn % 2:
                flink.query(f"CALL sys.compact(`table` => 'db.{name}', compact_strategy => 'full')")
            else:
                assert compact(None, lake.table(name), full=True).failed == ()
        for name in SINKS:
            assert (name, lake.rows(name)) == (name, lake.expected(name))
    read = rows_of_flink(flink)
    for name in SINKS:
        assert (name, read[name]) == (name, lake.expected(name))
        assert (name, compactors(lake.table(name), start[name])) == (name, "ours, Flink, ours")


def compactors(table: CatalogTable, after: int) -> str:
    """Whose compactions the snapshots after a certain one are; several of one side in a row count once."""
    actual = [table.snapshots.get(number) for number in table.snapshots.list_ids() if number > after]
    sides = [
        "ours" if (snapshot.properties or {}).get(OPERATION_PROPERTY) == "compact" else "Flink"
        for snapshot in actual
        if snapshot.commit_kind == CommitKind.COMPACT
    ]
    return ", ".join(side for side, _ in groupby(sides))
