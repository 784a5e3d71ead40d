"""Deletion vectors of a compaction: those of replaced files go, rows that it found to be outdated are deleted.

The index files of a bucket are written once for all of its units, by the process that commits, and proved before that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyroaring import BitMap

from maintenance.commit.commit import abort
from maintenance.compaction.proof.findings import Findings
from maintenance.compaction.proof.quarantine import refuse
from maintenance.compaction.proof.settings import ProofMode, ProofSettings
from maintenance.compaction.proof.vectors import VectorsProof
from maintenance.compaction.rewriting import CompactionResult
from maintenance.errors import ProofError
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.table.table import Table
from maintenance.write.deletion_vectors import BucketVectors
from maintenance.write.message import CommitMessage, VectorsChange

Group = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class ChangedVectors:
    """What becomes of results. `messages`: to commit; `refused`: groups whose vectors are not what they must be."""

    messages: list[CommitMessage]
    refused: Mapping[Group, ProofError]


@dataclass(frozen=True, slots=True)
class VectorsTask:
    """The vectors of a compaction.

    Attributes:
        index: the index state of the snapshot that it was planned on, whose id is `snapshot_id`.
        rows: of the data files that it works on, by name.
    """

    table: Table
    index: Sequence[IndexManifestEntry]
    rows: Mapping[str, int]
    proof: ProofSettings
    snapshot_id: int | None = None

    def change(self, results: Sequence[CompactionResult]) -> ChangedVectors:
        """The messages of the results; of each bucket one says what happens to its vectors.

        On an error nothing of what was written here stays. What is refused is in quarantine, the data files, too.
        """
        by_group: dict[Group, list[CompactionResult]] = {}
        for result in results:
            by_group.setdefault((result.message.partition, result.message.bucket), []).append(result)
        messages: list[CommitMessage] = []
        written: list[CommitMessage] = []
        refused: dict[Group, ProofError] = {}
        try:
            for group, members in by_group.items():
                context = self.table.write_context()
                before = BucketVectors.of(context, *group, self.index)
                change = before.change(_deleted(members), _gone(members))
                first, *others = (result.message for result in members)
                written.append(CommitMessage(*group, first.total_buckets, vectors=change))
                changed = [replace(first, vectors=change), *others]
                try:
                    self._prove(before, change, members)
                    messages += changed
                except Findings as findings:
                    subject, (first, *others) = "the change of deletion vectors", changed
                    refused[group] = refuse(
                        context, first, findings, subject=subject, snapshot_id=self.snapshot_id, others=others
                    )
        except BaseException:
            abort(self.table.commit_target(), written)
            raise
        return ChangedVectors(messages, refused)

    def _prove(self, before: BucketVectors, change: VectorsChange, results: Sequence[CompactionResult]) -> None:
        if self.proof.mode != ProofMode.OFF:
            proof = VectorsProof(before.context, before.entries, self.rows)
            proof.check(change, _deleted(results), _gone(results))


def _deleted(results: Sequence[CompactionResult]) -> Mapping[str, BitMap]:
    deleted: dict[str, BitMap] = {}
    for result in results:
        for name, rows in result.deleted.items():
            deleted.setdefault(name, BitMap()).update(rows)
    return deleted


def _gone(results: Sequence[CompactionResult]) -> set[str]:
    """Files that are replaced; those that only get another level keep their vectors."""
    before = {file.file_name for result in results for file in result.message.compact_before}
    return before - {file.file_name for result in results for file in result.message.compact_after}
