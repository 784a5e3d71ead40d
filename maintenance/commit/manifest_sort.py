"""Merge manifests and sort their entries, so that filtered scans open fewer of them: `manifest-sort.enabled`.

As without sorting, a full merge drops every DELETE entry, and a minor one the pairs that meet; small manifests and
those that a deletion may touch are rewritten always. Besides these, large manifests that overlap are sorted, a bounded
number of bytes in each commit. Source: Java `ManifestFileSorter`.
"""

from bisect import bisect
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from maintenance.commit.manifest_order import EntryOrder, Key, ManifestSorting
from maintenance.commit.manifest_runs import Section, picked, runs_of, sections_of
from maintenance.format.metadata.manifest import FileKind, ManifestColumns, ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.metadata.manifests import ManifestWriter

ReadManifest = Callable[[ManifestFileMeta], ManifestColumns]
# Entries that are sorted in memory; a larger section is sorted in steps, each of which reads its manifests again.
IN_MEMORY = 200_000
_SAMPLED = 100


@dataclass(slots=True)
class ManifestSorter:
    """One merge of manifests.

    Attributes:
        must: names of the manifests to rewrite in any case: small ones, and those that a deletion may touch.
        deleted: the DELETE entries of all manifests, which a full merge drops; None = a minor merge.
        touched: names of the manifests that may have an entry that is deleted, rewritten even alone.
        target_size, min_count: as in `ManifestMergeOptions`.
    """

    order: EntryOrder
    sorting: ManifestSorting
    read: ReadManifest
    writer: ManifestWriter
    schema_id: int
    target_size: int
    min_count: int
    must: frozenset[str]
    touched: frozenset[str] = frozenset()
    deleted: Mapping[Hashable, ManifestEntry] | None = None
    _rewritten: int = 0
    _deletions: list[ManifestFileMeta] = field(default_factory=list)

    def merge(self, manifests: Sequence[ManifestFileMeta]) -> list[ManifestFileMeta]:
        """The manifests after the merge; the same if nothing is to do."""
        chosen, left = self.choose(manifests)
        if not chosen:
            return list(manifests)
        result = [meta for section in self._sections(chosen) for meta in self._merged(section)]
        kept = {meta.file_name for meta in left}
        return [meta for meta in manifests if meta.file_name in kept] + result + self._deletions

    def choose(self, manifests: Sequence[ManifestFileMeta]) -> tuple[list[ManifestFileMeta], list[ManifestFileMeta]]:
        """The manifests that are looked at, and those that stay."""
        large = [meta for meta in manifests if meta.file_name not in self.must]
        chosen, left = picked(runs_of(large, self.order), self.sorting)
        return chosen + [meta for meta in manifests if meta.file_name in self.must], left

    def _sections(self, chosen: Sequence[ManifestFileMeta]) -> Iterator[Section]:
        """Sections within the bytes that one commit sorts, then what is rewritten beyond them, in smaller parts."""
        beyond: list[Section] = []
        for section in sections_of(chosen, self.order, self.target_size):
            if len(section.files) == 1 or self._rewritten + section.size <= self.sorting.max_rewrite_size:
                self._rewritten += section.size if len(section.files) > 1 else 0
                yield section
            elif self._rewritten < self.sorting.max_rewrite_size:
                head, tail = self._cut(section)
                self._rewritten = self.sorting.max_rewrite_size
                yield head
                if tail.files:
                    beyond.append(tail)
            else:
                beyond.append(section)
        for section in beyond:
            yield from self._parts(section)

    def _cut(self, section: Section) -> tuple[Section, Section]:
        """What the bytes that are left reach for, at least two manifests, and the rest."""
        allowed = self.sorting.max_rewrite_size - self._rewritten
        size = number = 0
        for meta in section.files:
            if size > allowed and number >= 2:
                break
            size += meta.file_size
            number += 1
        return Section(section.files[:number]), Section(section.files[number:])

    def _parts(self, section: Section) -> Iterator[Section]:
        """Parts of the target size, as an unsorted merge takes them; single manifests where nothing is to rewrite."""
        if not any(meta.file_name in self.must for meta in section.files):
            yield from (Section([meta]) for meta in section.files)
            return
        part: list[ManifestFileMeta] = []
        for meta in section.files:
            part.append(meta)
            if sum(m.file_size for m in part) >= self.target_size:
                yield Section(part)
                part = []
        if len(part) >= self.min_count or self.deleted:
            yield Section(part)
        else:
            yield from (Section([meta]) for meta in part)

    def _merged(self, section: Section) -> list[ManifestFileMeta]:
        if len(section.files) == 1 and section.files[0].file_name not in self.touched:
            return section.files
        own = self._deleted_in(section) if self.deleted is None else {}
        deleted = own if self.deleted is None else self.deleted
        met: set[Hashable] = set()
        result: list[ManifestFileMeta] = []
        for entries in self._in_order(section):
            added = [entry for entry in entries if entry.kind == FileKind.ADD]
            met.update(entry.identity for entry in added if entry.identity in own)
            live = sorted((entry for entry in added if entry.identity not in deleted), key=self.order.of)
            result += self.writer.write(live, self.schema_id)
        remaining = sorted((e for identity, e in own.items() if identity not in met), key=self.order.of)
        self._deletions += self.writer.write(remaining, self.schema_id)
        return result

    def _deleted_in(self, section: Section) -> dict[Hashable, ManifestEntry]:
        return {
            entry.identity: entry
            for meta in section.files
            if meta.num_deleted_files > 0
            for entry in self.read(meta).select()
            if entry.kind == FileKind.DELETE
        }

    def _in_order(self, section: Section) -> Iterator[list[ManifestEntry]]:
        """The entries of a section in steps; those of a step stand before those of the next."""
        if sum(meta.num_added_files + meta.num_deleted_files for meta in section.files) <= IN_MEMORY:
            yield [entry for meta in section.files for entry in self.read(meta).select()]
            return
        cuts, reach = self._cuts(section)
        for step in range(len(cuts) + 1):
            yield [
                entry
                for meta in section.files
                if reach[meta.file_name][0] <= step <= reach[meta.file_name][1]
                for entry in self.read(meta).select()
                if bisect(cuts, self.order.of(entry)) == step
            ]

    def _cuts(self, section: Section) -> tuple[list[Key], dict[str, tuple[int, int]]]:
        """Where the steps end, by a sample of the entries, and the first and last step of each manifest."""
        sample: list[Key] = []
        ends: dict[str, tuple[Key, Key]] = {}
        total = 0
        for meta in section.files:
            keys = sorted(map(self.order.of, self.read(meta).select()))
            total += len(keys)
            if keys:
                ends[meta.file_name] = keys[0], keys[-1]
            sample += keys[::_SAMPLED]
        sample.sort()
        steps = -(-total // IN_MEMORY)
        cuts = [sample[len(sample) * step // steps] for step in range(1, steps)]
        reach = {name: (bisect(cuts, low), bisect(cuts, high)) for name, (low, high) in ends.items()}
        return cuts, {meta.file_name: reach.get(meta.file_name, (0, -1)) for meta in section.files}
