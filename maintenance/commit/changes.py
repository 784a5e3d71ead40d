"""What one snapshot changes."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from maintenance.commit.manifest_merge import ManifestMergeOptions
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.snapshot import CommitKind


@dataclass(frozen=True, slots=True)
class Changes:
    """What a snapshot changes.

    Attributes:
        entries: of the delta; `changelog`: of the changelog manifests.
        index: makes the next index state of the one before; None = it stays.
        statistics: name of a new statistics file; None = the one before stays.
        kept: chooses the manifests of the snapshot before that stay; None = all.
        merging: how they are merged, which is all that the commit does; None = as the table's options say.
        total: rows of the new state, where those of the snapshot before do not count.
        bring_back: files are added that were deleted before.
        next_row_id: with row tracking, the lowest id that later rows may get; None = what the entries say.
    """

    kind: CommitKind
    entries: tuple[ManifestEntry, ...]
    changelog: tuple[ManifestEntry, ...] = ()
    index: Callable[[Sequence[IndexManifestEntry]], list[IndexManifestEntry]] | None = None
    statistics: str | None = None
    kept: Callable[[Sequence[ManifestFileMeta]], list[ManifestFileMeta]] | None = None
    merging: ManifestMergeOptions | None = None
    total: int | None = None
    bring_back: bool = False
    next_row_id: int | None = None

    @property
    def returning(self) -> frozenset[Hashable]:
        """Identities that may have been there before: of files that only get another index, or come back."""
        if self.bring_back:
            return frozenset(entry.identity for entry in self.entries if entry.kind == FileKind.ADD)
        deleted = {(e.file.file_name, e.file.level) for e in self.entries if e.kind == FileKind.DELETE}
        added = (e for e in self.entries if e.kind == FileKind.ADD)
        return frozenset(e.identity for e in added if (e.file.file_name, e.file.level) in deleted)
