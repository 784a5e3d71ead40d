"""Writers of tables that are not write-only compact what they write."""

import logging
import multiprocessing
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.overwrite import Overwrite
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.compaction.compact import compact
from maintenance.operations.ingestion.ingest import IngestReport, ingest
from maintenance.options.model import TableModel
from maintenance.table.system.audit_log import AuditLogView
from tests.tables import create_table, data_files, files_on_disk, get_table, keyed, live, live_files, state

INLINE = {"write-only": "false"}
STOPPING = {"num-sorted-run.compaction-trigger": "3", "num-sorted-run.stop-trigger": "6"}
LOOKING_UP = (
    {"changelog-producer": "lookup"},
    {"deletion-vectors.enabled": "true"},
    {"merge-engine": "first-row"},
    {"compaction.force-up-level-0": "true"},
)


def kinds(table: CatalogTable) -> str:
    """The kinds of the snapshots, by their first letters."""
    return "".join(table.snapshots.get(i).commit_kind.value[0] for i in table.snapshots.list_ids())


def levels(table: CatalogTable) -> list[int]:
    return sorted(file.level for file in live_files(table))


def write(table: CatalogTable, *keys: int, text: str = "v") -> tuple[int, ...]:
    return table.write_arrow(keyed({key: f"{text}{key}" for key in keys}))


def batch(table: CatalogTable, number: int, *keys: int) -> IngestReport:
    return ingest(None, table, keyed(dict.fromkeys(keys, f"{number}")), commit_user="feed", commit_identifier=number)


def test_a_write_that_reaches_the_trigger_compacts(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=INLINE)
    made = [write(table, i, 100) for i in range(6)]
    assert made == [(1,), (2,), (3,), (4,), (5, 6), (7,)]
    assert kinds(table) == "AAAAACA"
    assert levels(table) == [0, 5]
    append, compaction = table.snapshots.get(5), table.snapshots.get(6)
    assert (compaction.commit_user, compaction.commit_identifier) == (append.commit_user, append.commit_identifier)
    assert state(table) == {i: f"v{i}" for i in (*range(6), 100)}


def test_write_only_and_its_old_name_are_honoured(tmp_path: Path) -> None:
    for name, options in (("db.a", {"write-only": "true"}), ("db.b", {"write.compaction-skip": "true"})):
        table = create_table(tmp_path, options={**INLINE, **options} if name == "db.a" else options, name=name)
        for i in range(7):
            write(table, i)
        assert kinds(table) == "A" * 7
    for i in range(7):
        write(table.copy({"write-only": "false"}), i)
    assert "C" in kinds(table), "an option of one write"


@pytest.mark.parametrize("options", LOOKING_UP)
def test_level_0_is_lifted_at_once(tmp_path: Path, options: dict[str, str]) -> None:
    table = create_table(tmp_path, options={**INLINE, **options})
    for i in range(4):
        write(table, i, 100, text=f"{i}-")
        assert 0 not in levels(table)
        first = options.get("merge-engine") == "first-row"
        assert state(table) == {**{n: f"{n}-{n}" for n in range(i + 1)}, 100: "0-100" if first else f"{i}-100"}
    assert kinds(table) == "AC" * 4


def test_gentle_lookups_leave_level_0_for_a_while(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={**INLINE, "lookup-compact": "gentle", "deletion-vectors.enabled": "true"})
    for i in range(3):
        write(table, i)
    assert kinds(table) == "AAA"
    assert state(table) == {}, "reads do not see level 0"
    write(table, 3)
    write(table, 4)
    assert kinds(table) == "AAAAAC", "the trigger is reached"
    assert state(table) == {i: f"v{i}" for i in range(5)}
    write(table, 5)
    compact(None, table)
    assert 0 not in levels(table), "a compaction of its own lifts them"


def test_changelog_of_every_write(tmp_path: Path) -> None:
    for producer, name in (("lookup", "db.a"), ("full-compaction", "db.b")):
        table = create_table(tmp_path, options={**INLINE, "changelog-producer": producer}, name=name)
        write(table, 1, 2, text="a")
        write(table, 2, 3, text="b")
        actual = [(r["rowkind"], r["id"], r["v"]) for r in AuditLogView(changes(table)).to_arrow().to_pylist()]
        assert sorted(actual) == sorted(
            [("+I", 1, "a1"), ("+I", 2, "a2"), ("-U", 2, "a2"), ("+U", 2, "b2"), ("+I", 3, "b3")]
        )


def changes(table: CatalogTable) -> CatalogTable:
    latest = table.snapshots.latest_id()
    return table.copy({"incremental-between": f"0,{latest}", "incremental-between-scan-mode": "changelog"})


def test_full_compaction_with_each_write_on_its_own(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={**INLINE, "full-compaction.delta-commits": "7", "bucket": "2"})
    for i in range(3):
        write(table, i, i + 50)
    assert kinds(table) == "ACACAC"
    assert set(levels(table)) == {5}


def test_full_compaction_of_a_pipeline_comes_with_every_nth_commit(tmp_path: Path) -> None:
    table = create_table(
        tmp_path, (("p", "INT NOT NULL"), ("id", "INT NOT NULL")), ("p", "id"),
        {**INLINE, "full-compaction.delta-commits": "3"}, partition_keys=("p",),
    )  # fmt: skip
    rows = [pa.table({"p": pa.array([i % 2], pa.int32()), "id": pa.array([i], pa.int32())}) for i in range(6)]
    reports = [ingest(None, table, r, commit_user="feed", commit_identifier=i) for i, r in enumerate(rows)]
    assert [report.compaction.buckets for report in reports] == [0, 0, 2, 0, 0, 2]
    assert kinds(table) == "AAACAAAC"
    assert set(levels(table)) == {5}, "of both partitions, though the last batch wrote to one"


@pytest.mark.parametrize("given", [{}, {"full-compaction.delta-commits": "0"}])
def test_each_numbered_commit_has_its_changelog(tmp_path: Path, given: dict[str, str]) -> None:
    """Paimon documents that `full-compaction.delta-commits` counts as 1 where changelogs come from full compactions."""
    producer = {"changelog-producer": "full-compaction"}
    table = create_table(tmp_path, options={**INLINE, **given, **producer})
    for number, text in enumerate("abc"):
        ingest(None, table, keyed({1: text, 10 + number: text}), commit_user="feed", commit_identifier=number)
    assert kinds(table) == "ACACAC"
    assert set(levels(table)) == {5}
    actual = [(r["rowkind"], r["id"], r["v"]) for r in AuditLogView(changes(table)).to_arrow().to_pylist()]
    own = [("+I", 1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), ("-U", 1, "b"), ("+U", 1, "c")]
    assert sorted(actual) == sorted([*own, ("+I", 10, "a"), ("+I", 11, "b"), ("+I", 12, "c")])
    write(table, 1, text="d")
    assert kinds(table) == "ACACACAC", "and so has each write on its own"


def test_no_full_compaction_where_there_is_another_producer_or_none_is_wanted(tmp_path: Path) -> None:
    for number, options in enumerate(
        ({"changelog-producer": "input"}, {}, {"changelog-producer": "full-compaction", "write-only": "true"})
    ):
        table = create_table(tmp_path, options={**INLINE, **options}, name=f"db.t{number}")
        ingest(None, table, keyed({1: "a"}), commit_user="feed", commit_identifier=1)
        assert kinds(table) == "A"


def test_write_only_comes_before_full_compactions(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"write-only": "true", "full-compaction.delta-commits": "1"})
    write(table, 1)
    assert kinds(table) == "A"


def test_append_tables_with_fixed_buckets_are_compacted_by_file_count(tmp_path: Path) -> None:
    fields = (("id", "INT"),)
    for name, options, expected in (
        ("db.a", {"bucket": "1", "bucket-key": "id", "compaction.min.file-num": "3"}, "AAACAACAAC"),
        ("db.b", {"bucket": "-1", "compaction.min.file-num": "3"}, "A" * 7),
    ):
        table = create_table(tmp_path, fields, (), {**INLINE, **options}, name=name)
        for i in range(7):
            table.write_arrow(pa.table({"id": pa.array([i], pa.int32())}))
        assert kinds(table) == expected
        assert table.to_arrow().column("id").to_pylist() == list(range(7))


@pytest.mark.parametrize(
    ("fields", "keys", "partition", "options"),
    [
        ((("id", "INT NOT NULL"), ("v", "STRING")), ("id",), (), {"bucket": "-1"}),
        ((("id", "INT NOT NULL"), ("v", "STRING")), ("id",), ("v",), {"bucket": "-1"}),
        ((("id", "INT NOT NULL"), ("v", "STRING")), ("id",), (), {"bucket": "-2", "postpone.default-bucket-num": "1"}),
    ],
    ids=["dynamic", "cross-partition", "postponed"],
)
def test_other_bucket_modes_compact_but_for_postponed_buckets(
    tmp_path: Path,
    fields: Sequence[tuple[str, str]],
    keys: Sequence[str],
    partition: Sequence[str],
    options: Mapping[str, str],
) -> None:
    trigger = {"num-sorted-run.compaction-trigger": "2"}
    table = create_table(tmp_path, fields, keys, {**INLINE, **trigger, **options}, partition_keys=partition)
    for i in range(5):
        table.write_arrow(keyed({7: "p", i: "p"}))
    assert state(table) == {7: "p", **dict.fromkeys(range(5), "p")}
    assert ("C" in kinds(table)) == (table.options["bucket"] != "-2"), "postponed buckets wait for a compaction"


def test_overwrites_compact_what_they_wrote_without_changelog(tmp_path: Path) -> None:
    options = {"changelog-producer": "lookup", "write-buffer-size": "60 b", "overwrite-upgrade": "false"}
    table = create_table(tmp_path, options={**INLINE, **options})
    write(table, 1, 2)
    assert len(table.overwrite_arrow(keyed({1: "new", 3: "new"}), Overwrite())) == 2
    assert kinds(table) == "ACOC"
    assert table.snapshots.get(2).changelog_manifest_list is not None
    assert table.snapshots.get(4).changelog_manifest_list is None
    assert levels(table) == [5]
    assert state(table) == {1: "new", 3: "new"}


# Back-pressure


def test_too_many_runs_are_compacted_before_more_is_committed(tmp_path: Path) -> None:
    table = create_table(
        tmp_path, options={"num-sorted-run.compaction-trigger": "3", "num-sorted-run.stop-trigger": "6"}
    )
    for i in range(6):
        write(table, i, 100)
    said: list[str] = []
    open_table = table.copy(INLINE)
    report = ingest(None, open_table, keyed({9: "v9"}), commit_user="feed", commit_identifier=1, progress=said.append)
    assert kinds(table) == "AAAAAACA"
    assert report.snapshot_ids == (7, 8)
    assert (report.compaction.before_commit, report.compaction.buckets) == (1, 1)
    assert (report.compaction.input_files, report.compaction.input_rows) == (6, 12)
    assert any("num-sorted-run.stop-trigger" in line for line in said)
    assert levels(table) == [0, 3]
    compaction = table.snapshots.get(7)
    assert (compaction.commit_user, compaction.commit_identifier) == ("feed", 0), "or a replay would leave the rows out"
    assert ingest(None, open_table, keyed({9: "no"}), commit_user="feed", commit_identifier=1).already_committed
    assert state(table) == {**{i: f"v{i}" for i in range(6)}, 100: "v100", 9: "v9"}


def test_up_to_the_stop_trigger_nobody_waits(tmp_path: Path) -> None:
    table = create_table(
        tmp_path, options={"num-sorted-run.compaction-trigger": "3", "num-sorted-run.stop-trigger": "6"}
    )
    for i in range(5):
        write(table, i)
    write(table.copy(INLINE), 5)
    assert kinds(table) == "AAAAAAC"


def test_write_only_writers_never_wait(tmp_path: Path) -> None:
    table = create_table(
        tmp_path, options={"num-sorted-run.compaction-trigger": "2", "num-sorted-run.stop-trigger": "2"}
    )
    for i in range(6):
        write(table, i)
    assert kinds(table) == "AAAAAA"


def test_stop_trigger_as_java_reads_it() -> None:
    assert TableModel().stop_trigger == 8
    assert TableModel({"num-sorted-run.compaction-trigger": "2"}).stop_trigger == 5
    assert TableModel({"num-sorted-run.stop-trigger": "1"}).stop_trigger == 5, "not below the trigger"


# Beside others


@contextmanager
def unreadable(table: CatalogTable) -> Iterator[None]:
    """The files of level 0 are gone for a while."""
    paths = [Path(table.paths.data_file(e.partition, e.bucket, e.file)) for e in live(table)]
    for path in paths:
        path.rename(path.with_suffix(".away"))
    try:
        yield
    finally:
        for path in paths:
            path.with_suffix(".away").rename(path)


def test_what_goes_wrong_afterwards_does_not_undo_the_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = create_table(tmp_path, options={**INLINE, "num-sorted-run.compaction-trigger": "2"})
    write(table, 1)
    with unreadable(table), caplog.at_level(logging.WARNING):
        report = batch(table, 0, 2)
    assert report.snapshot_ids == (2,)
    assert report.compaction.warning
    assert "the rows are written" in caplog.text
    assert files_on_disk(table) == data_files(table), "nothing of the failed compaction stays"
    assert batch(table, 1, 3).compaction.buckets == 1, "the next write does the work"
    assert state(table) == {1: "v1", 2: "0", 3: "1"}


def test_a_repeated_commit_compacts_what_the_killed_one_left(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={**INLINE, "deletion-vectors.enabled": "true"})
    batch(table.copy({"write-only": "true"}), 0, 1)
    assert state(table) == {}
    report = batch(table, 0, 1)
    assert report.already_committed
    assert (report.row_count, report.snapshot_ids, report.compaction.buckets) == (0, (2,), 1)
    assert state(table) == {1: "0"}
    assert batch(table, 0, 1).snapshot_ids == ()
    assert table.write_arrow(keyed({1: "no"}), commit_user="feed", commit_identifier=0) == ()
    assert kinds(table) == "AC"


def _feed(warehouse: str, number: int, commits: int) -> None:
    table = get_table(warehouse)
    for i in range(commits):
        rows = keyed({number * 1000 + i: f"{number}/{i}", -1: f"{number}/{i}"})
        table.write_arrow(rows, commit_user=f"writer-{number}", commit_identifier=i)


@pytest.mark.parametrize("options", [{}, {"deletion-vectors.enabled": "true"}], ids=["merge-on-read", "merge-on-write"])
def test_two_writers_and_a_compactor_lose_nothing(tmp_path: Path, options: dict[str, str]) -> None:
    patient = {"commit.max-retries": "200", "commit.max-retry-wait": "50 ms", "num-sorted-run.compaction-trigger": "2"}
    table = create_table(tmp_path, options={**INLINE, **patient, **options, "bucket": "2"})
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_feed, args=(str(tmp_path), n, 6)) for n in range(2)]
    for writer in writers:
        writer.start()
    for _ in range(5):
        compact(None, get_table(tmp_path), full=True)
    for writer in writers:
        writer.join(300)
    assert [writer.exitcode for writer in writers] == [0, 0]
    compact(None, table, full=True)
    actual = state(table)
    assert actual.pop(-1) in {"0/5", "1/5"}
    assert actual == {n * 1000 + i: f"{n}/{i}" for n in range(2) for i in range(6)}
    made = [table.snapshots.get(i) for i in table.snapshots.list_ids()]
    rows = [(s.commit_user, s.commit_identifier) for s in made if s.commit_kind == CommitKind.APPEND]
    assert sorted(rows) == sorted((f"writer-{n}", i) for n in range(2) for i in range(6)), "each batch once"
    assert files_on_disk(table) == data_files(table), "nobody left a file behind or deleted a live one"


def test_threads_of_inline_writers(tmp_path: Path) -> None:
    patient = {"commit.max-retries": "200", "commit.max-retry-wait": "50 ms", "num-sorted-run.compaction-trigger": "2"}
    table = create_table(tmp_path, options={**INLINE, **patient})
    started = threading.Barrier(3)

    def run(number: int) -> None:
        started.wait()
        _feed(str(tmp_path), number, 5)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(run, range(3)))
    actual = state(table)
    assert actual.pop(-1) in {f"{n}/4" for n in range(3)}
    assert actual == {n * 1000 + i: f"{n}/{i}" for n in range(3) for i in range(5)}
    assert "C" in kinds(table)
    assert files_on_disk(table) == data_files(table)
