"""Of two commits at a time the later one is the newer one, whoever has read the table first."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import maintenance.commit.newest as newest
import maintenance.commit.order as order
from maintenance.catalog import CatalogTable
from maintenance.commit.commit import abort, append_or_abort
from maintenance.commit.identity import CommitIdentity
from maintenance.connector.data_writer import PaimonWriter
from maintenance.errors import CommitError, ConflictError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.write.renumber import in_threads
from maintenance.write.rolling import RollingFileWriter
from tests.examples import examples
from tests.models.commit_order import ENGINES, FIELDS, Record, Row, arrow, batches, by_key, fold
from tests.races import Prepared, overtaken
from tests.tables import create_table, data_files, files_on_disk, get_table, live, live_files

LAYOUTS: dict[str, dict[str, str]] = {
    "one bucket": {},
    "dynamic buckets": {"bucket": "-1"},
    "postponed buckets": {"bucket": "-2", "postpone.default-bucket-num": "2"},
    "compacts inline": {"write-only": "false", "num-sorted-run.compaction-trigger": "2"},
    "orc": {"file.format": "orc"},
    "avro": {"file.format": "avro"},
    "row": {"file.format": "row"},
    "thin": {"data-file.thin-mode": "true"},
    "small files": {"target-file-size": "1 b", "write-buffer-size": "1 b"},
    "indexed": {"file-index.bloom-filter.columns": "a", "file-index.in-manifest-threshold": "1 b"},
}


def rows(table: CatalogTable) -> dict[int, Row]:
    return by_key(table.to_arrow())


def write(table: CatalogTable, records: Sequence[Record]) -> None:
    table.write_arrow(arrow(records), [kind for kind, *_ in records])


def check(table: CatalogTable, expected: dict[int, Row]) -> None:
    """The rows are these, before and after compactions, and nothing is left over."""
    if table.options.get("merge-engine") != "first-row":  # level 0 is not visible there
        assert rows(table) == expected
    assert fsck(table.file_io, table.location, deep=True).healthy
    compact(None, table, full=True)
    assert rows(table) == expected
    assert files_on_disk(table) == data_files(table)


# Records of key 1 from two writers. The second has more rows, so its numbers are higher.
FIRST: list[Record] = [("+I", 1, 1, 1)]
MINE: list[Record] = [("+I", 1, 2, None)]
THEIRS: list[Record] = [("+I", 5, 9, 9), ("+I", 6, 9, 9), ("+I", 7, 9, 9), ("+I", 1, 2, 3)]


CASES = [
    *((engine, layout) for engine in ENGINES for layout in ("one bucket", "compacts inline")),
    *(("partial-update", layout) for layout in LAYOUTS if layout not in ("one bucket", "compacts inline")),
]


@pytest.mark.parametrize(("engine", "layout"), CASES)
def test_the_later_commit_is_the_newer_one(tmp_path: Path, engine: str, layout: str) -> None:
    table = create_table(tmp_path, FIELDS, options={**ENGINES[engine], **LAYOUTS[layout]})
    write(table, [*FIRST, *THEIRS[:3]])
    slow = Prepared.of(get_table(tmp_path), MINE)
    write(table, THEIRS)
    slow.commit()
    check(get_table(tmp_path), fold(engine, [FIRST, THEIRS[:3], THEIRS, MINE]))


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "layout"), CASES)
def test_who_is_outrun_when_publishing_comes_later(tmp_path: Path, engine: str, layout: str) -> None:
    table = create_table(tmp_path, FIELDS, options={**ENGINES[engine], **LAYOUTS[layout]})
    write(table, [*FIRST, *THEIRS[:3]])
    more: list[Record] = [*THEIRS, ("+I", 1, 7, None)]
    write(overtaken(table, lambda: write(table, THEIRS), lambda: write(table, more)), MINE)
    commits: list[list[Record]] = [FIRST, THEIRS[:3], THEIRS, more, MINE]
    check(get_table(tmp_path), fold(engine, commits))


def numbers(files: Sequence[DataFileMeta]) -> list[tuple[int, int]]:
    return sorted((file.min_sequence_number, file.max_sequence_number) for file in files)


def test_numbers_stay_where_nobody_was_faster(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS)
    write(table, [*FIRST, *THEIRS])
    write(table, MINE)
    other = create_table(tmp_path, FIELDS, options={"bucket": "2"}, name="db.other")
    first, second = ([("+I", key, 1, 1)] for key in _one_key_of_each_bucket(other))
    slow = Prepared.of(other, first)
    write(other, second)
    slow.commit()
    assert numbers(live_files(table)) == [(1, 4), (5, 5)]
    assert {entry.bucket: entry.file.min_sequence_number for entry in live(other)} == {0: 0, 1: 0}


def test_equal_numbers_are_overtaken_too(tmp_path: Path) -> None:
    """Two writers that began together have the same numbers: the later commit gets higher ones."""
    table = create_table(tmp_path, FIELDS)
    slow = Prepared.of(table, MINE)
    write(table, FIRST)
    slow.commit()
    (first, last), (low, high) = numbers(live_files(table))
    assert (first, last) == (0, 0)
    assert low == high > last


def _one_key_of_each_bucket(table: CatalogTable) -> list[int]:
    collected: dict[int, int] = {}
    for key in range(20):
        prepared = Prepared.of(table, [("+I", key, 0, 0)])
        collected.setdefault(prepared.messages[0].bucket, key)
        abort(table.commit_target(), prepared.messages)
    return [key for _, key in sorted(collected.items())]


def test_the_order_of_several_writers_of_one_commit_stays(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS)
    writer = PaimonWriter(table, {}, {}, overwrite=False)
    rival = PaimonWriter(table, {}, {}, overwrite=False)
    tasks = [writer.written(iter(arrow([("+I", 1, lane, lane)]).to_batches()), lane) for lane in (0, 1, 2)]
    rival.commit([rival.written(iter(arrow(THEIRS).to_batches()), 5)])
    writer.commit([*tasks])
    check(table, fold("deduplicate", [THEIRS, [("+I", 1, 2, 2)]]))


def test_a_large_commit_makes_room_for_further_ones(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS)
    rivals = [lambda n=n: write(table, [("+I", 1, n, n)]) for n in range(4)]
    written: list[DataFileMeta] = []
    slow = Prepared.of(overtaken(table, *rivals), MINE)

    def run(function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        written.extend(task.file for task in tasks)
        return in_threads(function, tasks)

    append_or_abort(slow.table.commit_target(), slow.messages, CommitIdentity("a"), state=slow.state, run=run)
    assert len(written) == 1, "further commits of the rivals find room below"
    assert rows(table)[1] == MINE[0][2:]
    assert len(numbers(live_files(table))) == 5
    assert files_on_disk(table) == data_files(table)


def test_what_is_overtaken_again_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "_ROOM_BITS", 0)
    monkeypatch.setattr(order, "_MORE_BITS", 1)
    table = create_table(tmp_path, FIELDS, options={"changelog-producer": "input"})
    many: list[Record] = [("+I", 1, n, n) for n in range(9)]
    write(overtaken(table, *[lambda: write(table, many)] * 3), MINE)
    check(table, fold("deduplicate", [many, MINE]))


def test_a_changelog_of_input_has_the_numbers_of_its_rows(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, options={"changelog-producer": "input", "target-file-size": "1 b"})
    mine: list[Record] = [("+I", 1, 2, 2), ("+U", 1, 3, 3), ("+I", 2, 4, 4)]
    write(overtaken(table, lambda: write(table, THEIRS)), mine)
    last = table.latest_snapshot()
    assert last is not None
    changes = [entry.file for entry in table.manifests.changelog_entries(last)]
    assert sum(file.row_count for file in changes) == 3
    data = [entry.file for entry in table.manifests.delta_entries(last)]
    assert min(numbers(changes))[0] + 2 == max(numbers(changes))[1] == max(numbers(data))[1]
    assert min(numbers(changes))[0] > len(THEIRS)
    check(table, fold("deduplicate", [THEIRS, mine]))


def test_numbers_of_append_tables_go_on_in_their_entries(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), {"bucket": "1", "bucket-key": "id"})
    slow = Prepared.of(table, MINE)
    table.write_arrow(arrow(THEIRS))
    slow.commit()
    (first, last), (low, high) = numbers(live_files(table))
    assert (first, last) == (0, 3)
    assert low == high > 3
    assert files_on_disk(table) == data_files(table)
    unaware = create_table(tmp_path, FIELDS, (), name="db.unaware")
    slow = Prepared.of(unaware, MINE)
    unaware.write_arrow(arrow(THEIRS))
    slow.commit()
    assert numbers(live_files(unaware)) == [(0, 0), (0, 3)]


def test_numbers_of_the_user_stay(tmp_path: Path) -> None:
    options = {"sequence.field": "a", "sequence.auto-padding": "row-kind-flag"}
    table = create_table(tmp_path, FIELDS, options=options)
    slow = Prepared.of(table, [("+I", 1, 5, 1)])
    write(table, [("+I", 1, 7, 2)])
    slow.commit()
    assert numbers(live_files(table)) == [(11, 11), (15, 15)]
    assert rows(table) == {1: (7, 2)}


@pytest.mark.parametrize("how", ["expired", "rolled back", "many"])
def test_the_state_is_read_again_where_the_snapshots_are_gone(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create_table(tmp_path, FIELDS)
    write(table, FIRST)
    write(table, [("+I", 1, 0, 0)])
    slow = Prepared.of(table, MINE)
    if how == "rolled back":
        rollback_to(table, snapshot_id=1)
    elif how == "many":
        monkeypatch.setattr(newest, "_SNAPSHOTS", 1)
    write(table, THEIRS)
    write(table, THEIRS[:3])
    if how == "expired":
        expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)
    slow.commit()
    assert rows(table) == fold("deduplicate", [FIRST, THEIRS, MINE])


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create_table(tmp_path, FIELDS, options={"bucket": "2"})
    mine: list[Record] = [("+I", key, 1, 1) for key in range(10)]
    theirs: list[Record] = [("+I", key, 2, 2) for key in range(20)]
    slow = Prepared.of(table, mine)
    assert len(slow.messages) == 2
    write(table, theirs)
    right = RollingFileWriter.close

    def fails(writer: RollingFileWriter) -> tuple[DataFileMeta, ...]:
        if writer._place.bucket == 1:
            raise OSError("no space left on device")
        return right(writer)

    monkeypatch.setattr(RollingFileWriter, "close", fails)
    with pytest.raises(CommitError, match="no space left on device"):
        slow.commit()
    monkeypatch.undo()
    assert rows(table) == fold("deduplicate", [theirs])
    assert files_on_disk(table) == data_files(table)


def test_nothing_is_deleted_while_the_outcome_is_unknown(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS)
    broken = overtaken(table, lambda: write(table, THEIRS), lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write(broken, MINE)
    assert len(files_on_disk(table) - data_files(table)) == 2, "the file as it was written, and the one that follows it"
    write(table, MINE)
    assert rows(table) == fold("deduplicate", [THEIRS, MINE])


def test_updates_and_deletions_too(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS)
    write(table, [("+I", key, 0, 0) for key in range(4)])
    theirs: list[Record] = [("+I", key, 5, 5) for key in (0, 1, 1, 1, 2, 2)]
    overtaken(table, lambda: write(table, theirs)).update({"a": 7}, "id = 1")
    assert rows(table)[1] == (7, 0)
    overtaken(table, lambda: write(table, theirs)).delete("id = 2")
    assert rows(table) == {0: (5, 5), 1: (5, 5), 3: (0, 0)}


# Interleavings of writers: each writes its files, and commits them at some later time; compactions come in between.


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(
    engine=st.sampled_from(sorted(ENGINES)),
    layout=st.sampled_from(["one bucket", "dynamic buckets", "postponed buckets", "compacts inline", "small files"]),
    data=st.data(),
)
def test_the_state_is_that_of_the_commits_in_their_order(engine: str, layout: str, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        table = create_table(folder, FIELDS, options={**ENGINES[engine], **LAYOUTS[layout]})
        waiting: list[Prepared] = []
        commits: list[Sequence[Record]] = []
        states: dict[int, dict[int, Row]] = {}
        for step in data.draw(st.lists(st.sampled_from(["write", "write", "commit", "compact"]), max_size=10)):
            if step == "write":
                waiting.append(Prepared.of(table, data.draw(batches(engine))))
            elif step == "compact":
                compact(None, table, full=data.draw(st.booleans()))
            elif waiting:
                mine = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
                try:
                    mine.commit()
                    commits.append(mine.records)
                except ConflictError:  # of dynamic buckets: another writer has given keys their buckets
                    write(table, mine.records)
                    commits.append(mine.records)
            if latest := table.latest_snapshot():
                states[latest.id] = fold(engine, commits)
        for mine in waiting:
            abort(table.commit_target(), mine.messages)
        if engine != "first-row":
            for snapshot_id, expected in states.items():
                assert rows(table.copy({"scan.snapshot-id": str(snapshot_id)})) == expected
        check(table, fold(engine, commits))
