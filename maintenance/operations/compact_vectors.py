"""Deletion vectors of a compaction: those of replaced files go, rows that it found to be outdated are deleted.

The index files of a bucket are written once for all of its units, by the process that commits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyroaring import BitMap

from maintenance.commit.commit import abort
from maintenance.compaction.rewrite import CompactionResult
from maintenance.format.index_manifest import IndexManifestEntry
from maintenance.table.table import Table
from maintenance.write.deletion_vectors import BucketVectors
from maintenance.write.message import CommitMessage

Group = tuple[bytes, int]


def with_vectors(
    table: Table, index: Sequence[IndexManifestEntry], results: Sequence[CompactionResult]
) -> list[CommitMessage]:
    """The messages of the results; of each bucket one says what happens to its vectors.

    `index`: the state that the compaction was planned on. On an error nothing of what was written here stays.
    """
    context = table.write_context()
    by_group: dict[Group, list[CompactionResult]] = {}
    for result in results:
        by_group.setdefault((result.message.partition, result.message.bucket), []).append(result)
    messages: list[CommitMessage] = []
    written: list[CommitMessage] = []
    try:
        for group, members in by_group.items():
            change = BucketVectors.of(context, *group, index).change(_deleted(members), _gone(members))
            first, *others = (result.message for result in members)
            written.append(CommitMessage(*group, first.total_buckets, vectors=change))
            messages += [replace(first, vectors=change), *others]
    except BaseException:
        abort(table.commit_target(), written)
        raise
    return messages


def _deleted(results: Sequence[CompactionResult]) -> Mapping[str, BitMap]:
    found: dict[str, BitMap] = {}
    for result in results:
        for name, rows in result.deleted.items():
            found.setdefault(name, BitMap()).update(rows)
    return found


def _gone(results: Sequence[CompactionResult]) -> set[str]:
    """Files that are replaced; those that only get another level keep their vectors."""
    before = {file.file_name for result in results for file in result.message.compact_before}
    return before - {file.file_name for result in results for file in result.message.compact_after}
