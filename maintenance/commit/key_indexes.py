"""Indexes of the buckets of a table with a primary key in a commit: `pk-btree.index.columns` and the like."""

from collections.abc import Collection, Sequence

from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.commit.commit import aborting
from maintenance.commit.conflicts import Conflict
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.target import CommitTarget
from maintenance.format.global_index.source_meta import parse_source_meta
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.format.metadata.manifest import EntrySelection
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.scan.split import by_bucket
from maintenance.write.message import CommitMessage


def commit_key_indexes(
    target: CommitTarget, added: Sequence[IndexManifestEntry], removed: Collection[str], identity: CommitIdentity
) -> int:
    """Publish index files, and leave others out of the next state. Returns the snapshot's id.

    Args: `removed`: names of index files. Raises: ConflictError: data files that were indexed are gone, the new index
        files are deleted; CommitError.
    """

    def after(old: Sequence[IndexManifestEntry]) -> list[IndexManifestEntry]:
        return [*(entry for entry in old if entry.file_name not in removed), *added]

    messages = [CommitMessage(entry.partition, entry.bucket, -1, new_index_files=(entry,)) for entry in added]
    changes, work = Changes(CommitKind.COMPACT, (), index=after), CommitAttempts(target, identity)
    with aborting(work, messages):
        for attempt in work:
            with attempt:
                attempt.commit(changes, _check_sources(target, added, attempt.latest))
        return work.snapshot().id


def _check_sources(
    target: CommitTarget, added: Sequence[IndexManifestEntry], latest: Snapshot | None
) -> Conflict | None:
    """Groups whose new index files are of data files that are gone."""
    partitions = {entry.partition for entry in added}
    live = [] if latest is None else target.manifests.live_entries(latest, EntrySelection(partitions.__contains__))
    files = {group: {entry.file.file_name for entry in entries} for group, entries in by_bucket(live).items()}
    lost = {
        (entry.partition, entry.bucket)
        for entry in added
        if not _sources(entry) <= files.get((entry.partition, entry.bucket), set())
    }
    return Conflict("data files that were indexed are gone", frozenset(lost)) if lost else None


def _sources(entry: IndexManifestEntry) -> set[str]:
    assert entry.global_index is not None
    assert entry.global_index.source_meta is not None
    return {name for name, _ in parse_source_meta(entry.global_index.source_meta, entry.file_name).files}
