"""Rows that wait for their bucket keep their place among those that are written straight into it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import maintenance.compaction.postpone as postpone
import maintenance.operations.compaction.postponed as compact_postponed
from maintenance.catalog import CatalogTable, SetOption
from maintenance.compaction.postpone import PostponeCompaction
from maintenance.errors import CorruptFileError
from maintenance.format.metadata.data_file import FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.metadata.hints import EARLIEST
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.arrivals import MOVE_FIRST, Arrivals
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.write.context import wall_clock_millis
from maintenance.write.message import CommitMessage
from tests.examples import examples
from tests.models.commit_order import ENGINES, FIELDS, Record, Row, arrow, batches, by_key, fold
from tests.races import Prepared, overtaken
from tests.tables import create_table, data_files, files_on_disk, get_table, live, open_warehouse
from tests.unit.compaction.files import data_file

POSTPONED = {"bucket": "-2", "postpone.default-bucket-num": "2"}


def direct(table: CatalogTable, *records: Record) -> None:
    table.write_arrow(arrow(records), [kind for kind, *_ in records])


def wait(table: CatalogTable, *records: Record) -> None:
    direct(table.copy({"postpone.batch-write-fixed-bucket": "false"}), *records)


def rows(table: CatalogTable) -> dict[int, Row]:
    return by_key(table.to_arrow())


def waiting(table: CatalogTable) -> int:
    return sum(entry.bucket == -2 for entry in live(table))


def expire(table: CatalogTable) -> None:
    expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)


def compact_buckets(table: CatalogTable, *, full: bool = True) -> list[str]:
    """Compact real buckets without a move. Returns why some were left alone."""
    report = compact(None, table, full=full, only=lambda _unit: True)
    assert not report.failed
    return [group.message for group in report.groups if group.outcome == "skipped"]


def postponed(tmp_path: Path | str, engine: str = "deduplicate", **options: str) -> CatalogTable:
    return create_table(tmp_path, FIELDS, options={**POSTPONED, **ENGINES[engine], **options})


OLD: list[Record] = [("+I", key, 0, 0) for key in range(4)]


@pytest.mark.parametrize("expired", [False, True])
@pytest.mark.parametrize("full", [False, True])
def test_what_waits_loses_to_what_was_written_after_it(tmp_path: Path, full: bool, expired: bool) -> None:
    table = postponed(tmp_path)
    direct(table, *OLD)
    wait(table, ("+I", 1, 1, 1), ("+I", 2, 1, 1), ("+I", 3, 1, 1))
    direct(table, ("+I", 1, 2, 2))
    direct(table, ("-D", 2, None, None))
    before = rows(table)
    assert before == {0: (0, 0), 1: (2, 2), 3: (0, 0)}
    if expired:
        expire(table)
    assert not compact(None, table, full=full).failed
    assert rows(table) == {0: (0, 0), 1: (2, 2), 3: (1, 1)}
    assert waiting(table) == 0
    assert fsck(table.file_io, table.location, deep=True).healthy
    compact(None, table, full=True)
    assert rows(table) == {0: (0, 0), 1: (2, 2), 3: (1, 1)}
    assert fsck(table.file_io, table.location, deep=True).healthy


@pytest.mark.parametrize("expiring", [True, False])
def test_snapshots_that_an_expiry_is_deleting_count_as_expired(tmp_path: Path, expiring: bool) -> None:
    """Their records go last. If nobody is deleting them, what they lack is damage."""
    table = postponed(tmp_path, **{"manifest.merge-min-count": "2"})
    wait(table, ("+I", 1, 1, 1))
    direct(table, ("+I", 2, 2, 2))
    direct(table, ("+I", 1, 3, 3))
    if expiring:
        table.snapshots.write_hint(EARLIEST, 3)
    named = {meta.file_name for meta in table.manifests.data_manifests(table.snapshots.get(3))}
    lost = [meta.file_name for meta in table.manifests.data_manifests(table.snapshots.get(2))]
    gone = [name for name in lost if name not in named]
    assert gone, "the newest state has merged manifests"
    for name in gone:
        (Path(table.paths.manifest(name))).unlink()
    if expiring:
        compact(None, get_table(tmp_path), full=True)
        assert rows(get_table(tmp_path)) == {1: (3, 3), 2: (2, 2)}
    else:
        with pytest.raises(CorruptFileError):
            compact(None, get_table(tmp_path), full=True)


def test_only_what_came_later_is_written_again(tmp_path: Path) -> None:
    table = postponed(tmp_path, "partial-update", **{"postpone.default-bucket-num": "1"})
    direct(table, *OLD)
    (first,) = [entry.file.file_name for entry in live(table)]
    wait(table, ("+I", 1, 1, 1), ("+I", 2, 1, 1))
    direct(table, ("+I", 1, 2, 2))
    compact(None, table)
    numbers = {entry.file.file_name: (entry.file.min_sequence_number, entry.file.file_source) for entry in live(table)}
    assert numbers.pop(first) == (0, FileSource.APPEND)
    assert sorted(numbers.values()) == [(4, FileSource.COMPACT), (6, FileSource.COMPACT)]
    names = set(numbers)
    # Files that a move wrote are older than all that waits after it.
    wait(table, ("+I", 1, 3, 3))
    compact(None, table)
    assert {first, *names} < {entry.file.file_name for entry in live(table)}
    assert rows(table) == {0: (0, 0), 1: (3, 3), 2: (1, 1), 3: (0, 0)}


@pytest.mark.parametrize("buffer", ["1 b", "256 mb"])
def test_what_came_later_stays_where_the_last_record_of_a_key_counts(tmp_path: Path, buffer: str) -> None:
    """Whoever numbers rows on from these files, and commits after the move, is still newer."""
    options = {"postpone.default-bucket-num": "1", "num-sorted-run.compaction-trigger": "99"}
    table = postponed(tmp_path, **options, **{"write-buffer-size": buffer})
    direct(table, *OLD)
    wait(table, ("+I", 1, 1, 1), ("+I", 2, 1, 1), ("+I", 5, 1, 1))
    direct(table, ("+I", 1, 2, 2), ("-D", 5, None, None))
    direct(table, ("-D", 3, None, None))
    wait(table, ("+I", 1, 3, 3), ("+I", 3, 3, 3), ("-D", 2, None, None))
    direct(table, ("+I", 3, 4, 4))
    names = {entry.file.file_name for entry in live(table) if entry.bucket >= 0}
    compact(None, table)
    assert names < {entry.file.file_name for entry in live(table)}
    expected = {0: (0, 0), 1: (3, 3), 3: (4, 4)}
    assert rows(table) == expected
    compact(None, table, full=True)
    assert rows(table) == expected
    assert fsck(table.file_io, table.location, deep=True).healthy


def test_a_deletion_that_waits_removes_what_was_set_before_it(tmp_path: Path) -> None:
    table = postponed(tmp_path, "partial-update, deletes")
    direct(table, ("+I", 1, 1, 1))
    wait(table, ("-D", 1, None, None))
    wait(table, ("+I", 1, None, 2))
    compact(None, table)
    assert rows(table) == {1: (None, 2)}


def test_buckets_are_not_compacted_before_older_rows_have_moved(tmp_path: Path) -> None:
    table = postponed(tmp_path, **{"num-sorted-run.compaction-trigger": "1"})
    direct(table, *OLD)
    wait(table, ("+I", 2, 1, 1))
    direct(table, ("-D", 2, None, None), ("+I", 1, 2, 2))
    for expired in (False, True):
        if expired:
            expire(table)
        assert MOVE_FIRST in compact_buckets(table)
    assert not compact(None, table, full=True).failed
    assert rows(table) == {0: (0, 0), 1: (2, 2), 3: (0, 0)}
    wait(table, ("+I", 2, 3, 3))
    assert compact_buckets(table) == [], "nothing has come after what waits"
    assert not compact(None, table).failed
    assert rows(table) == {0: (0, 0), 1: (2, 2), 2: (3, 3), 3: (0, 0)}


def test_rows_that_still_wait_when_a_table_gets_fixed_buckets(tmp_path: Path) -> None:
    table = postponed(tmp_path)
    direct(table, *OLD)
    wait(table, ("+I", 2, 1, 1))
    options = {"bucket": "2", "write-only": "false", "num-sorted-run.compaction-trigger": "1"}
    open_warehouse(tmp_path).alter_table("db.t", [SetOption(key, value) for key, value in options.items()])
    table = get_table(tmp_path)
    direct(table, ("-D", 2, None, None))
    assert [entry.file.level for entry in live(table) if entry.bucket >= 0 and entry.file.delete_row_count] == [0]
    assert not compact(None, table, full=True).failed
    assert rows(table) == {0: (0, 0), 1: (0, 0), 3: (0, 0)}


def test_what_is_written_while_rows_move_is_newer(tmp_path: Path) -> None:
    table = postponed(tmp_path)
    direct(table, *OLD)
    wait(table, ("+I", 1, 1, 1), ("+I", 2, 1, 1), ("+I", 3, 1, 1))

    def rival() -> None:
        wait(table, ("+I", 3, 5, 5))
        direct(table, ("+I", 1, 2, 2))

    assert not compact(None, overtaken(table, rival)).failed
    assert rows(table) == {0: (0, 0), 1: (2, 2), 2: (1, 1), 3: (5, 5)}
    assert waiting(table) == 0
    assert files_on_disk(table) == data_files(table)


def test_what_is_committed_after_the_move_is_newer(tmp_path: Path) -> None:
    table = postponed(tmp_path)
    direct(table, *OLD)
    wait(table, *[("+I", 1, n, n) for n in range(9)])
    slow = Prepared.of(table, [("+I", 1, 77, 77)])
    compact(None, table)
    slow.commit()
    assert rows(table)[1] == (77, 77)
    compact(None, table, full=True)
    assert rows(table)[1] == (77, 77)


def test_what_comes_to_wait_while_others_move_is_newer_than_they_are(tmp_path: Path) -> None:
    table = postponed(tmp_path)
    direct(table, *OLD)
    wait(table, ("+I", 1, 1, 1))
    compact(None, overtaken(table, lambda: wait(table, ("+I", 1, 2, 2))))
    assert (rows(table)[1], waiting(table)) == ((1, 1), 1)
    expire(table)
    compact(None, table)
    assert rows(table)[1] == (2, 2)


def test_what_another_engine_moved_is_older_than_what_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paimon's files of level 0 do not say that a compaction wrote them; its snapshot does."""
    right = postpone._as_compaction

    def as_paimon_does(message: CommitMessage) -> CommitMessage:
        actual = right(message)
        later = wall_clock_millis() + 60_000
        moved = (replace(file, file_source=FileSource.APPEND, creation_time=later) for file in actual.compact_after)
        return replace(actual, compact_after=tuple(moved))

    monkeypatch.setattr(postpone, "_as_compaction", as_paimon_does)
    table = postponed(tmp_path)
    direct(table, *OLD)
    wait(table, ("+I", 1, 1, 1))
    compact(None, overtaken(table, lambda: wait(table, ("+I", 1, 2, 2))))
    assert {entry.file.file_source for entry in live(table)} == {FileSource.APPEND}
    expire(table)
    compact(None, table)
    assert rows(table)[1] == (2, 2)


def test_where_nothing_tells_what_waits_is_older() -> None:
    file = data_file("direct.parquet", created=5)
    entry = ManifestEntry(FileKind.ADD, b"", 0, 1, file)
    expired, known = Arrivals(), Arrivals({"direct.parquet": 7})
    assert expired.came_after(entry, (0, 5))
    assert not expired.came_after(entry, (0, 6))
    assert not expired.came_after(entry, (1, 0)), "its snapshot has expired, the other one has not"
    assert known.came_after(entry, (0, 6))
    assert not known.came_after(entry, (8, 0))
    assert not expired.came_after(replace(entry, file=replace(file, level=1)), (0, 1))
    assert not expired.came_after(replace(entry, file=replace(file, file_source=FileSource.COMPACT)), (0, 1))


def test_a_file_counts_from_its_commit_not_from_its_beginning(tmp_path: Path) -> None:
    """A long job writes its files, then rows come to wait, then the job commits; all snapshots expire."""
    for first in ("direct", "waiting"):
        table = create_table(tmp_path, FIELDS, options=POSTPONED, name=f"db.{first}")
        direct(table, *OLD)
        late = table if first == "direct" else table.copy({"postpone.batch-write-fixed-bucket": "false"})
        slow = Prepared.of(late, [("+I", 1, 77, 77)])
        (wait if first == "direct" else direct)(table, ("+I", 1, 1, 1))
        slow.commit()
        direct(table, ("+I", 0, 9, 9))
        expire(table)
        compact(None, table)
        assert rows(table)[1] == (77, 77)


def test_a_file_that_gets_an_index_keeps_its_place(tmp_path: Path) -> None:
    table = postponed(tmp_path)
    direct(table, *OLD)
    wait(table, ("+I", 1, 1, 1))
    direct(table, ("+I", 1, 2, 2))
    indexed = table.copy({"file-index.bloom-filter.columns": "a"})
    assert rewrite_file_index(None, indexed).snapshot_ids
    compact(None, table)
    assert rows(table)[1] == (2, 2)


def test_a_changelog_of_input_and_a_sequence_of_the_user(tmp_path: Path) -> None:
    table = postponed(tmp_path, "sequence.field", **{"changelog-producer": "input"})
    direct(table, *OLD)
    wait(table, ("+I", 1, 5, 1), ("+I", 2, 0, 1))
    direct(table, ("+I", 1, 4, 2), ("+I", 2, 0, 2))
    compact(None, table)
    assert rows(table) == {0: (0, 0), 1: (5, 1), 2: (0, 2), 3: (0, 0)}
    padded = create_table(
        tmp_path,
        FIELDS,
        options={**POSTPONED, "sequence.field": "a", "sequence.auto-padding": "row-kind-flag"},
        name="db.padded",
    )
    wait(padded, ("+I", 1, 5, 1))
    direct(padded, ("+I", 1, 4, 2))
    names = {entry.file.file_name for entry in live(padded) if entry.bucket >= 0}
    compact(None, padded)
    assert names < {entry.file.file_name for entry in live(padded)}
    assert rows(padded) == {1: (5, 1)}


# Any history

STEPS = ("wait", "wait", "direct", "direct", "compact", "full", "buckets", "expire")


@dataclass
class History:
    """Commits in their order, and whether readers see them: those that wait are seen once they have moved."""

    engine: str
    commits: list[Sequence[Record]] = field(default_factory=list)
    seen: list[bool] = field(default_factory=list)

    def add(self, records: Sequence[Record], *, seen: bool) -> None:
        self.commits.append(records)
        self.seen.append(seen)

    def rows(self) -> dict[int, Row]:
        return fold(self.engine, [c for c, seen in zip(self.commits, self.seen, strict=True) if seen])


@pytest.mark.slow
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(
    engine=st.sampled_from(sorted(ENGINES)),
    options=st.sampled_from(
        [
            {},
            {"write-buffer-size": "1 b"},
            {"target-file-size": "1 b"},
            {"changelog-producer": "lookup", "data-file.thin-mode": "true"},
        ]
    ),
    shares=st.integers(1, 2),
    data=st.data(),
)
def test_any_history_is_that_of_its_commits(
    engine: str, options: dict[str, str], shares: int, data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        in_shares(patch, shares)
        table = postponed(folder, engine, **options)
        history = History(engine)
        for step in data.draw(st.lists(st.sampled_from(STEPS), max_size=12)):
            if step in ("wait", "direct"):
                records = data.draw(batches(engine))
                (wait if step == "wait" else direct)(table, *records)
                history.add(records, seen=step == "direct")
            elif step == "expire" and table.latest_snapshot():
                expire(table)
            elif step == "buckets":
                compact_buckets(table, full=data.draw(st.booleans()))
            elif step in ("compact", "full"):
                assert not compact(None, table, full=step == "full").failed
                history.seen = [True] * len(history.seen)
                assert rows(table) == history.rows()
                assert waiting(table) == 0
                assert not compact(None, table, full=step == "full").snapshot_ids, "nothing is left to do"
            if engine != "first-row" and not options.get("changelog-producer"):  # level 0 is not visible there
                assert rows(table) == history.rows()
        assert not compact(None, table, full=True).failed
        history.seen = [True] * len(history.seen)
        assert rows(table) == history.rows()
        assert files_on_disk(table) == data_files(table)


def in_shares(patch: pytest.MonkeyPatch, count: int) -> None:
    """So many units share the buckets of a partition."""
    right = compact_postponed._units

    def shared(*given: Any) -> list[PostponeCompaction]:
        (unit,) = right(*given)
        return [replace(unit, share=share, shares=count) for share in range(count)]

    patch.setattr(compact_postponed, "_units", shared)
