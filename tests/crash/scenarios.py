"""What is killed, and what must hold afterwards."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from maintenance.catalog import CatalogTable
from maintenance.metadata.branches import Branches
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.expiry.expire_partitions import expire_partitions
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.fast_forward import fast_forward
from maintenance.operations.refs.replace_tag import replace_tag
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.table.system.audit_log import AuditLogView
from tests.crash import bin_scenarios, clone_scenarios, life_scenarios, migrate_scenarios, rename_scenarios
from tests.models.reachable import changes_of, files_on_disk, missing_files, unreachable_files
from tests.small_tables import Place, batch, put, rows, rows_at, rows_of_tag, small_table, table_in

Rows = list[tuple[int, str]]
NOW = datetime(2024, 5, 14, 10)
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Reading:
    """What a table offers: its rows, and those of its snapshots and tags."""

    rows: Rows
    snapshots: dict[int, Rows]
    tags: dict[str, Rows]

    @classmethod
    def of(cls, table: CatalogTable) -> "Reading":
        earliest, latest = table.snapshots.earliest_id(), table.snapshots.latest_id()
        assert earliest is not None
        assert latest is not None
        ids = range(earliest, latest + 1)
        tags = {name: rows_of_tag(table, name) for name in table.tags.names()}
        return cls(rows(table), {i: rows_at(table, i) for i in ids}, tags)


@dataclass(frozen=True)
class Scenario:
    """An operation on a prepared table.

    Attributes:
        check_whole: of a run that nothing disturbed: the scenario does what it is meant to do.
        check_between: what the table offered before, and the table after the kill.
        again: what is run then to finish the work.
        check_after: the table of the undisturbed run, and the one that was killed and finished.
    """

    name: str
    prepare: Callable[[Place], None]
    operate: Callable[[CatalogTable], None]
    check_whole: Callable[[CatalogTable], None]
    check_between: Callable[[Reading, CatalogTable], None]
    again: tuple[Callable[[CatalogTable], None], ...]
    check_after: Callable[[CatalogTable, CatalogTable], None]


# Commits


def prepare_commits(place: Place) -> None:
    table = small_table(place, {"manifest.merge-min-count": "2"})
    put(table, {1: "a", 2: "b", 3: "c"})
    put(table, {2: "B"})


def write_once(table: CatalogTable) -> None:
    table.write_arrow(batch({1: "A", 4: "d"}, [3]), ["+I", "+I", "-D"], commit_user="feed", commit_identifier=7)


def check_written(table: CatalogTable) -> None:
    assert rows(table) == [(1, "A"), (2, "B"), (4, "d")]
    assert table.snapshots.list_ids() == [1, 2, 3]


def check_all_or_nothing(before: Reading, after: CatalogTable) -> None:
    if after.snapshots.latest_id() == 3:
        check_written(after)
        assert Reading.of(after).snapshots.items() > before.snapshots.items()
    else:
        assert Reading.of(after) == before


def check_written_once(whole: CatalogTable, table: CatalogTable) -> None:
    check_written(table)
    latest = table.snapshots.get(3)
    expected = whole.snapshots.get(3)
    assert (latest.total_record_count, latest.delta_record_count) == (
        expected.total_record_count,
        expected.delta_record_count,
    )


# A writer that compacts what it has written


def prepare_inline(place: Place) -> None:
    options = {"write-only": "false", "deletion-vectors.enabled": "true", "changelog-producer": "lookup"}
    table = small_table(place, {**options, "manifest.merge-min-count": "2"})
    table.write_arrow(batch({1: "a", 2: "b", 3: "c"}))


def check_inline(table: CatalogTable) -> None:
    assert rows(table) == [(1, "A"), (2, "b"), (4, "d")]
    kinds = [table.snapshots.get(i).commit_kind.value for i in table.snapshots.list_ids()]
    assert kinds == ["APPEND", "COMPACT"] * 2


def check_before_or_after(before: Reading, after: CatalogTable) -> None:
    """Between the two snapshots nobody sees the rows yet."""
    assert rows(after) in (before.rows, [(1, "A"), (2, "b"), (4, "d")])


def check_inline_once(whole: CatalogTable, table: CatalogTable) -> None:
    check_inline(table)
    assert _changelog(table) == _changelog(whole)


def _changelog(table: CatalogTable) -> list[tuple[str, int, str]]:
    between = {"incremental-between": "0,4", "incremental-between-scan-mode": "changelog"}
    actual = AuditLogView(table.copy(between)).to_arrow().to_pylist()
    return sorted((row["rowkind"], row["k"], row["v"]) for row in actual)


# Compactions


def prepare_compaction(place: Place) -> None:
    table = small_table(place, {"changelog-producer": "full-compaction", "manifest.merge-min-count": "2"})
    put(table, {1: "a", 2: "b", 3: "c"})
    compact(None, table, full=True)
    put(table, {1: "A"}, deleted=[3])
    put(table, {4: "d"})


def compact_fully(table: CatalogTable) -> None:
    assert not compact(None, table, full=True).failed


def changelog_counts(table: CatalogTable) -> list[int]:
    counts = (table.snapshots.get(i).changelog_record_count for i in table.snapshots.list_ids())
    return [count for count in counts if count]


def levels(table: CatalogTable) -> list[tuple[int, int, int]]:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return sorted((e.bucket, e.file.level, e.file.row_count) for e in table.manifests.live_entries(snapshot))


def check_compacted(table: CatalogTable) -> None:
    assert rows(table) == [(1, "A"), (2, "b"), (4, "d")]
    assert table.snapshots.list_ids() == [1, 2, 3, 4, 5]
    assert {level for _, level, _ in levels(table)} == {5}
    assert changelog_counts(table) == [3, 4]


def check_same_rows(before: Reading, after: CatalogTable) -> None:
    actual = Reading.of(after)
    assert actual.rows == before.rows
    assert actual.snapshots.items() >= before.snapshots.items()


def check_compacted_once(whole: CatalogTable, table: CatalogTable) -> None:
    check_compacted(table)
    assert levels(table) == levels(whole)


# Deletion vectors


def prepare_deletion(place: Place) -> None:
    """Two files, one of which has a vector already."""
    options = {"deletion-vectors.enabled": "true", "manifest.merge-min-count": "2"}
    table = small_table(place, options, primary_key=False)
    put(table, {1: "a", 2: "b", 3: "c"})
    put(table, {4: "d", 5: "e"})
    table.delete("k = 1")


def update_rows(table: CatalogTable) -> None:
    table.update({"v": "'new'"}, "k IN (2, 4) AND v <> 'new'")


def check_updated(table: CatalogTable) -> None:
    assert rows(table) == [(2, "new"), (3, "c"), (4, "new"), (5, "e")]
    assert table.snapshots.list_ids() == [1, 2, 3, 4]


def check_updated_or_not(before: Reading, after: CatalogTable) -> None:
    if after.snapshots.latest_id() == 4:
        check_updated(after)
        assert Reading.of(after).snapshots.items() > before.snapshots.items()
    else:
        assert Reading.of(after) == before


def check_updated_once(whole: CatalogTable, table: CatalogTable) -> None:
    check_updated(table)
    assert table.snapshots.get(4).total_record_count == whole.snapshots.get(4).total_record_count


def prepare_marking(place: Place) -> None:
    """Level 0 has newer versions of rows and deletions; both buckets have a vector already."""
    table = small_table(place, {"deletion-vectors.enabled": "true", "manifest.merge-min-count": "2"})
    put(table, {i: f"{i}" for i in range(40)})
    compact(None, table)
    put(table, dict.fromkeys(range(10), "x"))
    compact(None, table)
    put(table, {1: "A", 30: "B"}, deleted=range(20, 26))


def mark(table: CatalogTable) -> None:
    assert not compact(None, table).failed


def check_marked(table: CatalogTable) -> None:
    expected = {i: "x" if i < 10 else f"{i}" for i in range(40) if not 20 <= i < 26} | {1: "A", 30: "B"}
    assert rows(table) == sorted(expected.items())
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert len(table.manifests.deletion_vectors(snapshot)) == 2


def check_marked_or_not(before: Reading, after: CatalogTable) -> None:
    if after.snapshots.latest_id() == max(before.snapshots):
        assert Reading.of(after) == before
    else:
        check_marked(after)


def check_marked_once(whole: CatalogTable, table: CatalogTable) -> None:
    check_marked(table)
    assert levels(table) == levels(whole)


# Changelogs


def prepare_lookup(place: Place) -> None:
    """Two commits that the operation missed, over an older state; both buckets have changes."""
    table = small_table(place, {"changelog-producer": "lookup", "manifest.merge-min-count": "2"})
    put(table, {i: f"{i}" for i in range(40)})
    produce(table)
    put(table, {1: "A", 2: "B"}, deleted=[3])
    put(table, {1: "AA", 100: "new"}, deleted=[4, 99])


def produce(table: CatalogTable) -> None:
    assert not produce_changelog(None, table).failed


def changes(table: CatalogTable) -> list[tuple[str, int, str]]:
    """All changelog rows there are, in order."""
    latest = table.snapshots.latest_id()
    between = {"incremental-between": f"0,{latest}", "incremental-between-scan-mode": "changelog"}
    actual = AuditLogView(table).to_arrow(options=between).to_pylist()
    return sorted((row["rowkind"], row["k"], row["v"]) for row in actual)


def check_produced(table: CatalogTable) -> None:
    inserted = [("+I", i, f"{i}") for i in range(40)]
    changed = [("+I", 100, "new"), ("+U", 1, "AA"), ("+U", 2, "B"), ("-U", 1, "1"), ("-U", 2, "2")]
    assert changes(table) == sorted([*inserted, *changed, ("-D", 3, "3"), ("-D", 4, "4")])


def check_produced_once(whole: CatalogTable, table: CatalogTable) -> None:
    check_produced(table)
    assert rows(table) == rows(whole)


def prepare_changelog_expiry(place: Place) -> None:
    retention = {
        "snapshot.num-retained.min": "1",
        "snapshot.num-retained.max": "1",
        "changelog.num-retained.min": "1",
        "changelog.num-retained.max": "4",
        "snapshot.expire.limit": "3",
    }
    table = small_table(place, {**retention, "manifest.merge-min-count": "4"})
    for i in range(4):
        put(table, {1: f"{i}", i: "x"})
        if i % 2:
            compact(None, table, full=True)


def expire_by_options(table: CatalogTable) -> None:
    expire_snapshots(table)


def check_changelogs_kept(table: CatalogTable) -> None:
    assert table.snapshots.list_ids() == [6]
    assert table.changelogs.list_ids() == [3, 4, 5]
    assert unreachable_files(table) == set()


def check_rows_and_changes(before: Reading, after: CatalogTable) -> None:
    """The rows are there, and whatever changes are offered are whole."""
    assert rows(after) == before.rows
    for changelog in after.changelogs.all():
        if changelog.id >= 3:
            assert set(changes_of(after, changelog)) <= files_on_disk(after)


# Expiry


def prepare_expiry(place: Place) -> None:
    # Manifests are merged so often that some belong to the last of the first batch and the first of the second alone.
    options = {"changelog-producer": "full-compaction", "snapshot.expire.limit": "3", "manifest.merge-min-count": "4"}
    table = small_table(place, options)
    for i in range(4):
        put(table, {1: f"{i}", i: "x"})
        if i % 2:
            compact(None, table, full=True)
    # Held by a tag that stays, by one that goes, by one that goes and whose snapshot lives.
    create_tag(table, "stays", snapshot_id=1)
    create_tag(table, "goes", snapshot_id=2, time_retained=HOUR, now=NOW)
    create_tag(table, "alive", snapshot_id=6, time_retained=HOUR, now=NOW)


def prepare_tag_expiry(place: Place) -> None:
    prepare_expiry(place)
    expire_old_snapshots(table_in(place))


def expire_old_snapshots(table: CatalogTable) -> None:
    expire_snapshots(table, retain_min=1, retain_max=1)


def expire_old_tags(table: CatalogTable) -> None:
    expire_tags(table, now=NOW + 2 * HOUR)


def check_snapshots_expired(table: CatalogTable) -> None:
    assert table.snapshots.list_ids() == [6]
    assert table.tags.names() == ["alive", "goes", "stays"]
    assert unreachable_files(table) == set()


def check_tags_expired(table: CatalogTable) -> None:
    assert table.tags.names() == ["stays"]
    assert table.tags.retired() == {}
    assert unreachable_files(table) == set()


def check_readable(before: Reading, after: CatalogTable) -> None:
    """Whatever is still offered to readers reads as it did, whole."""
    actual = Reading.of(after)
    assert actual.rows == before.rows
    assert 6 in actual.snapshots
    assert actual.snapshots.items() <= before.snapshots.items()
    assert "stays" in actual.tags
    assert actual.tags.items() <= before.tags.items()
    for snapshot_id in actual.snapshots:
        assert missing_files(after, after.snapshots.get(snapshot_id)) == set()


def check_same_files(whole: CatalogTable, table: CatalogTable) -> None:
    """Nothing is left over and nothing is missing: the same files as without the kill."""

    def relative(of: CatalogTable) -> set[str]:
        return {path.removeprefix(of.location) for path in files_on_disk(of)}

    assert relative(table) == relative(whole)
    assert unreachable_files(table) == set()
    assert table.snapshots.earliest_id() == whole.snapshots.earliest_id()
    assert table.snapshots.read_hint("EARLIEST") == whole.snapshots.read_hint("EARLIEST")


def _both(table: CatalogTable) -> None:
    expire_old_snapshots(table)
    expire_old_tags(table)


def check_both_expired(table: CatalogTable) -> None:
    assert table.snapshots.list_ids() == [6]
    check_tags_expired(table)


# Partitions


def prepare_partitions(place: Place) -> None:
    """Three partitions that are past their retention, each to go in a snapshot of its own, and one that is not."""
    options = {
        "partition.expiration-time": "7 d",
        "partition.expiration-batch-size": "1",
        "manifest.merge-min-count": "2",
    }
    table = small_table(place, options, primary_key=False, partition_keys=("v",))
    put(table, {k: f"2020-01-0{k}" for k in (1, 2, 3)} | {4: "2999-01-01"})
    put(table, {5: "2020-01-02", 6: "2999-01-01"})


def expire_old_partitions(table: CatalogTable) -> None:
    expire_partitions(table)


def check_partitions_expired(table: CatalogTable) -> None:
    assert rows(table) == [(4, "2999-01-01"), (6, "2999-01-01")]
    assert table.snapshots.list_ids() == [1, 2, 3, 4, 5]
    assert [table.snapshots.get(i).total_record_count for i in (3, 4, 5)] == [5, 3, 2]


def check_whole_partitions(before: Reading, after: CatalogTable) -> None:
    """Partitions are there whole or not at all; what was there before is still to be read at its snapshots."""
    days = sorted({day for _, day in before.rows})
    assert rows(after) in [[row for row in before.rows if row[1] not in days[:gone]] for gone in range(4)]
    assert Reading.of(after).snapshots.items() >= before.snapshots.items()


def check_partitions_expired_once(whole: CatalogTable, table: CatalogTable) -> None:
    check_partitions_expired(table)
    assert Reading.of(table) == Reading.of(whole)


# Going back, and branches


def prepare_history(place: Place) -> None:
    """Snapshot 1 only in a tag, 3 to 5 on main; branch b has 1 and 2 of its own."""
    table = small_table(place)
    for i in range(1, 6):
        put(table, {i: f"{i}", 0: f"{i}"})
        if i == 1:
            create_tag(table, "first")
            create_branch(table, "b", tag="first")
    branch = table.on_branch("b")
    put(branch, {9: "branch"})
    create_tag(table, "last")
    expire_snapshots(table, retain_min=3, retain_max=3)


def go_back(table: CatalogTable) -> None:
    rollback_to(table, tag="first")


def check_gone_back(table: CatalogTable) -> None:
    assert rows(table) == [(0, "1"), (1, "1")]
    assert table.snapshots.list_ids() == [1]
    assert (table.snapshots.earliest_id(), table.tags.names()) == (1, ["first"])


def check_a_state_of_before(before: Reading, after: CatalogTable) -> None:
    """The table is one that it was: one of its snapshots, or the tag's."""
    known = [*before.snapshots.values(), before.tags["first"]]
    assert rows(after) in known
    assert rows_of_tag(after, "first") == before.tags["first"]


def take_branch(table: CatalogTable) -> None:
    fast_forward(table, "b")


def check_branch_taken(table: CatalogTable) -> None:
    assert rows(table) == rows(table.on_branch("b")) == [(0, "1"), (1, "1"), (9, "branch")]
    assert table.snapshots.list_ids() == [1, 2]
    assert table.tags.names() == ["first"]


def check_main_or_branch(before: Reading, after: CatalogTable) -> None:
    branch = rows(after.on_branch("b"))
    assert branch == [(0, "1"), (1, "1"), (9, "branch")]
    assert rows(after) in [*before.snapshots.values(), before.tags["first"], branch]


def make_branch(table: CatalogTable) -> None:
    create_branch(table, "c", tag="last", ignore_if_exists=True)


def check_branch_made(table: CatalogTable) -> None:
    assert rows(table.on_branch("c")) == rows(table)
    assert rows_of_tag(table.on_branch("c"), "last") == rows(table)


def check_branch_whole_or_none(before: Reading, after: CatalogTable) -> None:
    assert Reading.of(after) == before
    if "c" in Branches(after.file_io, after.paths).names():
        check_branch_made(after)


def replace_first(table: CatalogTable) -> None:
    replace_tag(table, "first", snapshot_id=5)


def expire_tags_later(table: CatalogTable) -> None:
    """When the second tag, which held the new snapshot meanwhile, expires."""
    expire_tags(table, now=datetime.now() + 2 * HOUR)


def check_replaced(table: CatalogTable) -> None:
    assert rows_of_tag(table, "first") == rows(table)
    assert table.tags.retired() == {}


def check_old_or_new_tag(before: Reading, after: CatalogTable) -> None:
    assert rows(after) == before.rows
    assert rows_of_tag(after, "first") in (before.tags["first"], before.rows)


def check_history(whole: CatalogTable, table: CatalogTable) -> None:
    assert Reading.of(table) == Reading.of(whole)
    assert Branches(table.file_io, table.paths).names() == Branches(whole.file_io, whole.paths).names()


def check_replaced_once(whole: CatalogTable, table: CatalogTable) -> None:
    check_replaced(table)
    check_same_files(whole, table)


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            "write",
            prepare_commits,
            write_once,
            check_written,
            check_all_or_nothing,
            (write_once,),
            check_written_once,
        ),
        Scenario(
            "compact",
            prepare_compaction,
            compact_fully,
            check_compacted,
            check_same_rows,
            (compact_fully,),
            check_compacted_once,
        ),
        Scenario(
            "update",
            prepare_deletion,
            update_rows,
            check_updated,
            check_updated_or_not,
            (update_rows,),
            check_updated_once,
        ),
        Scenario(
            "mark",
            prepare_marking,
            mark,
            check_marked,
            check_marked_or_not,
            (mark,),
            check_marked_once,
        ),
        Scenario(
            "expire_snapshots",
            prepare_expiry,
            expire_old_snapshots,
            check_snapshots_expired,
            check_readable,
            (expire_old_snapshots,),
            check_same_files,
        ),
        Scenario(
            "expire_tags",
            prepare_tag_expiry,
            expire_old_tags,
            check_tags_expired,
            check_readable,
            (expire_old_tags,),
            check_same_files,
        ),
        Scenario(
            "expire_partitions",
            prepare_partitions,
            expire_old_partitions,
            check_partitions_expired,
            check_whole_partitions,
            (expire_old_partitions,),
            check_partitions_expired_once,
        ),
        Scenario(
            "inline",
            prepare_inline,
            write_once,
            check_inline,
            check_before_or_after,
            (write_once,),
            check_inline_once,
        ),
        Scenario(
            "lookup",
            prepare_lookup,
            produce,
            check_produced,
            check_same_rows,
            (produce, produce),
            check_produced_once,
        ),
        Scenario(
            "expire_changelogs",
            prepare_changelog_expiry,
            expire_by_options,
            check_changelogs_kept,
            check_rows_and_changes,
            (expire_by_options,),
            check_same_files,
        ),
        # The other expiry comes first after the kill, and finds what the killed one left.
        Scenario(
            "expire_both",
            prepare_expiry,
            _both,
            check_both_expired,
            check_readable,
            (expire_old_tags, expire_old_snapshots, expire_old_tags),
            check_same_files,
        ),
        Scenario(
            "rollback",
            prepare_history,
            go_back,
            check_gone_back,
            check_a_state_of_before,
            (go_back,),
            check_history,
        ),
        Scenario(
            "fast_forward",
            prepare_history,
            take_branch,
            check_branch_taken,
            check_main_or_branch,
            (take_branch,),
            check_history,
        ),
        Scenario(
            "create_branch",
            prepare_history,
            make_branch,
            check_branch_made,
            check_branch_whole_or_none,
            (make_branch,),
            check_history,
        ),
        # An expiry of tags works off what the killed one left on record, and the tag that held the new snapshot.
        Scenario(
            "replace_tag",
            prepare_history,
            replace_first,
            check_replaced,
            check_old_or_new_tag,
            (replace_first, expire_tags_later),
            check_replaced_once,
        ),
        Scenario(
            "remove_orphan_files",
            bin_scenarios.prepare_orphans,
            bin_scenarios.destroy_orphans,
            bin_scenarios.check_no_orphans,
            check_same_rows,
            (bin_scenarios.destroy_orphans,),
            bin_scenarios.check_orphans_destroyed,
        ),
        Scenario(
            "orphans_into_bin",
            bin_scenarios.prepare_orphans,
            bin_scenarios.remove_orphans,
            bin_scenarios.check_no_orphans,
            check_same_rows,
            (bin_scenarios.remove_orphans,),
            bin_scenarios.check_orphans_in_bin,
        ),
        Scenario(
            "expire_into_bin",
            bin_scenarios.prepare_history,
            bin_scenarios.expire_into_bin,
            bin_scenarios.check_expired,
            check_readable,
            (bin_scenarios.expire_into_bin,),
            bin_scenarios.check_all_comes_back,
        ),
        Scenario(
            "restore",
            bin_scenarios.prepare_bin,
            bin_scenarios.restore_all,
            bin_scenarios.check_restored,
            check_same_rows,
            (bin_scenarios.restore_all,),
            bin_scenarios.check_restored_like,
        ),
        Scenario(
            "empty_bin",
            bin_scenarios.prepare_bin,
            bin_scenarios.empty,
            bin_scenarios.check_empty,
            check_same_rows,
            (bin_scenarios.empty,),
            bin_scenarios.check_emptied,
        ),
        Scenario(
            "automatic_tags",
            life_scenarios.prepare_hours,
            life_scenarios.tag_hours,
            life_scenarios.check_hours_tagged,
            life_scenarios.check_some_hours_tagged,
            (
                life_scenarios.tag_hours,
                life_scenarios.expire_again,
            ),
            life_scenarios.check_hours_tagged_once,
        ),
        Scenario(
            "compact_manifest",
            life_scenarios.prepare_manifests,
            life_scenarios.merge_manifests,
            life_scenarios.check_manifests_merged,
            life_scenarios.check_rows_stay,
            (life_scenarios.merge_manifests,),
            life_scenarios.check_manifests_merged_once,
        ),
        Scenario(
            "merge_branch",
            life_scenarios.prepare_branches,
            life_scenarios.merge,
            life_scenarios.check_merged,
            life_scenarios.check_merged_or_not,
            (life_scenarios.merge,),
            life_scenarios.check_merged_once,
        ),
        Scenario(
            "rollback_to_as_latest",
            life_scenarios.prepare_manifests,
            life_scenarios.go_back_by_commit,
            life_scenarios.check_back_by_commit,
            life_scenarios.check_back_or_not,
            (life_scenarios.go_back_by_commit,),
            life_scenarios.check_back_once,
        ),
        Scenario(
            "clone",
            clone_scenarios.prepare,
            clone_scenarios.copy,
            clone_scenarios.check_copied,
            clone_scenarios.check_nothing_or_all,
            (clone_scenarios.copy,),
            clone_scenarios.check_copied_once,
        ),
        Scenario(
            "clone_again",
            clone_scenarios.prepare_older,
            clone_scenarios.copy,
            clone_scenarios.check_copied,
            clone_scenarios.check_old_or_new,
            (clone_scenarios.copy,),
            clone_scenarios.check_copied_once,
        ),
        Scenario(
            "delete_branch",
            life_scenarios.prepare_branch_to_delete,
            life_scenarios.delete_b,
            life_scenarios.check_b_deleted,
            life_scenarios.check_b_whole_or_none,
            (life_scenarios.delete_b,),
            life_scenarios.check_b_deleted_once,
        ),
        Scenario(
            "rename_branch",
            life_scenarios.prepare_branch_to_delete,
            life_scenarios.rename_b,
            life_scenarios.check_b_renamed,
            life_scenarios.check_b_or_c,
            (life_scenarios.rename_b,),
            life_scenarios.check_b_renamed_once,
        ),
        Scenario(
            "rename_table",
            rename_scenarios.prepare,
            rename_scenarios.rename,
            rename_scenarios.check_renamed,
            rename_scenarios.check_one_name,
            (rename_scenarios.rename,),
            rename_scenarios.check_renamed_once,
        ),
        Scenario(
            "purge_files",
            life_scenarios.prepare_full,
            life_scenarios.purge,
            life_scenarios.check_purged,
            life_scenarios.check_all_or_none,
            (life_scenarios.purge,),
            life_scenarios.check_purged_once,
        ),
        Scenario(
            "migrate",
            migrate_scenarios.prepare,
            migrate_scenarios.migrate_for_good,
            migrate_scenarios.check_migrated,
            migrate_scenarios.check_between,
            (migrate_scenarios.migrate_for_good,),
            migrate_scenarios.check_migrated_once,
        ),
        Scenario(
            "migrate_into_bin",
            migrate_scenarios.prepare,
            migrate_scenarios.migrate_into_bin,
            migrate_scenarios.check_migrated,
            migrate_scenarios.check_between,
            (migrate_scenarios.migrate_into_bin,),
            migrate_scenarios.check_all_in_bin,
        ),
    )
}
