"""Random histories: what is live by a naive walk stays, everything else goes, and what went into the bin comes back."""

import shutil
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.operations import (
    compact,
    create_branch,
    create_tag,
    delete_branch,
    delete_tag,
    expire_snapshots,
    fsck,
    remove_orphan_files,
    reset_consumer,
    restore,
    rollback_to,
)
from maintenance.operations.bin.run import BinRun
from tests.examples import examples
from tests.models.reachable import files_on_disk, unreachable_files
from tests.small_tables import put, rows, rows_at, rows_of_tag, small_table

STEPS = (
    "put",
    "put",
    "compact",
    "tag",
    "untag",
    "branch",
    "unbranch",
    "write branch",
    "consumer",
    "rollback",
    "expire",
)
PRODUCERS = ("none", "full-compaction")
Contents = dict[str, list[tuple[int, str]]]


def contents(table: CatalogTable) -> Contents:
    """The rows of all that can be read: snapshots, tags, branches."""
    actual = {f"snapshot {i}": rows_at(table, i) for i in table.snapshots.list_ids()}
    actual |= {f"tag {name}": rows_of_tag(table, name) for name in table.tags.names()}
    for name in _branches(table):
        actual[f"branch {name}"] = rows(table.on_branch(name))
    return actual


def _branches(table: CatalogTable) -> list[str]:
    folders = table.file_io.list_folders(f"{table.location}/branch")
    return [name.removeprefix("branch-") for name in folders]


def carry_out(table: CatalogTable, step: str, number: int) -> None:
    """One step, where it applies. Every history begins with a commit."""
    ids, tags, branches = table.snapshots.list_ids(), table.tags.names(), _branches(table)
    if step == "put":
        put(table, {number % 3: f"{number}", number: "x"})
    elif step == "compact":
        compact(None, table, full=True)
    elif step == "tag":
        create_tag(table, f"t{number}", snapshot_id=ids[number % len(ids)])
    elif step == "untag" and tags:
        delete_tag(table, tags[number % len(tags)])
    elif step == "branch" and tags:
        create_branch(table, f"b{number}", tag=tags[number % len(tags)])
    elif step == "unbranch" and branches:
        delete_branch(table, branches[number % len(branches)])
    elif step == "write branch" and branches:
        put(table.on_branch(branches[number % len(branches)]), {number: "branch"})
    elif step == "consumer":
        reset_consumer(table, "c", ids[number % len(ids)])
    elif step == "rollback":
        chosen = ids[number % len(ids)]
        rollback_to(table, snapshot_id=chosen)
        # As its reader does, which finds that what it waits for will be another snapshot.
        if any(following > chosen + 1 for following in table.consumers.next_snapshots().values()):
            reset_consumer(table, "c", chosen)
    elif step == "expire":
        expire_snapshots(table, retain_min=1, retain_max=2)


def orphans(table: CatalogTable) -> set[str]:
    """What nothing names, in the folders that are looked at."""
    looked_at = ("/manifest/", "/bucket-", "/index/", "/statistics/")
    return {path for path in unreachable_files(table) if any(place in path for place in looked_at)}


@given(st.lists(st.sampled_from(STEPS), min_size=3, max_size=9), st.sampled_from(PRODUCERS))
@settings(max_examples=examples(15), deadline=None)
def test_exactly_what_nothing_names_goes_and_comes_back(steps: Sequence[str], producer: str) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        table = small_table(folder, {"changelog-producer": producer})
        for number, step in enumerate(("put", *steps), 1):
            carry_out(table, step, number)
        before, files, expected = contents(table), files_on_disk(table), orphans(table)
        into = BinRun.begin(table, str(folder), "remove_orphan_files")
        report = remove_orphan_files(None, table, into=into, now=datetime.now(UTC) + timedelta(days=2))
        # What manifests delete, Java and this count as named: a walk over live files alone does not.
        assert {orphan.path for orphan in report.orphans} <= expected
        assert {path for path in expected - {o.path for o in report.orphans} if "/bucket-" not in path} == set()
        assert contents(table) == before
        assert fsck(table.file_io, table.location).healthy
        expiry = BinRun.begin(table, str(folder), "expire_snapshots")
        expire_snapshots(table, retain_min=1, retain_max=1, into=expiry)
        for run in (expiry, into):
            if run.taken_files:
                restore(table, str(folder), run.head.run)
        after = contents(table)
        assert {name: after[name] for name in before if name in after} == {
            name: before[name] for name in before if name in after
        }
        assert all(name in after or f"tag restored-{name.replace(' ', '-')}" in after for name in before)
        assert files <= files_on_disk(table) | {table.paths.snapshot_folder() + "/EARLIEST"}
    finally:
        shutil.rmtree(folder)
