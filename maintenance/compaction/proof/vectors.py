"""The proof of the deletion vectors that a compaction leaves to a bucket, read again from the files just written.

The files of the bucket with vectors afterwards are those of before, without the ones that are replaced, and those in
which rows were marked. Each vector holds the rows that were deleted before and the marked ones, none of them beyond the
end of its file, and as many as the index manifest will say. Index files that stay name no file that changes. Nothing
here is done by what makes the change.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from maintenance.compaction.proof.findings import Findings
from maintenance.errors import PaimonError
from maintenance.format.metadata.deletion_vector import DeletionVector, parse_index_file
from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX, IndexManifestEntry
from maintenance.types.row_hash import Digest, column_words, combined, mixed
from maintenance.write.context import WriteContext
from maintenance.write.message import VectorsChange

_U64 = np.uint64
# Rows deleted, ascending, by data file.
_Positions = dict[str, np.ndarray]


class VectorsProof:
    """Judges the change of one bucket's vectors. `before`: the bucket's index files; `rows`: of data files, by name."""

    def __init__(self, context: WriteContext, before: Sequence[IndexManifestEntry], rows: Mapping[str, int]) -> None:
        self._context, self._before, self._rows = context, before, rows

    def check(self, change: VectorsChange, marked: Mapping[str, BitMap], replaced: Collection[str]) -> None:
        """Args: `marked`: rows found to be outdated, by data file; `replaced`: data files that go.

        Raises: Findings: something is wrong.
        """
        marked = {name: actual for name, actual in marked.items() if actual}
        wrong = [*self._wrong_holders(change, marked, replaced)]
        expected, given = Digest(), Digest()
        if change.removed or change.added:
            due = self._due([e for e in self._before if e.file_name in change.removed], marked, replaced)
            try:
                actual = self._read(change.added)
            except (PaimonError, FileNotFoundError) as error:
                actual = {}
                wrong.append(f"the new index files cannot be read again: {error}")
            wrong += self._wrong_vectors(due, actual)
            wrong += self._wrong_entries(change.added)
            expected, given = _digest(due), _digest(actual)
        if expected != given:
            wrong.insert(0, "the deleted rows differ from the previous ones plus those that were marked")
        if wrong:
            raise Findings(wrong, expected, given)

    def _wrong_holders(
        self, change: VectorsChange, marked: Mapping[str, BitMap], replaced: Collection[str]
    ) -> Iterator[str]:
        holders = {part.data_file_name: entry.file_name for entry in self._before for part in entry.dv_ranges or ()}
        for name in sorted({*marked, *replaced}):
            if name not in change.seen or change.seen[name] != holders.get(name):
                yield f"{name} had its vector in {holders.get(name)}, and the commit looks in {change.seen.get(name)}"
        unknown = set(change.removed) - {entry.file_name for entry in self._before}
        for name in sorted(unknown):
            yield f"index file {name} is removed, but the bucket has no such file"
        for entry in self._before:
            if entry.file_name not in change.removed:
                for part in entry.dv_ranges or ():
                    if part.data_file_name in replaced or part.data_file_name in marked:
                        yield f"index file {entry.file_name} stays, but the vector of {part.data_file_name} changes"
        for name in sorted(set(marked) & set(replaced)):
            yield f"rows of {name} are marked, but the file is replaced"

    def _due(
        self, removed: Sequence[IndexManifestEntry], marked: Mapping[str, BitMap], replaced: Collection[str]
    ) -> _Positions:
        due = {name: rows for name, rows in self._read(removed).items() if name not in replaced}
        for name, rows in marked.items():
            due[name] = np.union1d(due.get(name, np.zeros(0, np.int64)), np.asarray(rows.to_array(), np.int64))
        return due

    def _read(self, entries: Sequence[IndexManifestEntry]) -> _Positions:
        positions: _Positions = {}
        for entry in entries:
            path = self._context.paths.index_file(entry)
            data = self._context.file_io.read_bytes(path)
            positions |= {name: _rows_of(v) for name, v in parse_index_file(data, entry.dv_ranges or (), path).items()}
        return positions

    def _wrong_vectors(self, due: _Positions, actual: _Positions) -> Iterator[str]:
        for name in sorted(set(due) ^ set(actual)):
            yield f"{name} {'has no vector, and must' if name in due else 'has a vector, and must not'} have one"
        for name in sorted(set(due) & set(actual)):
            if not np.array_equal(due[name], actual[name]):
                yield f"{len(actual[name])} rows of {name} are deleted, expected are {len(due[name])} others"
        for name, rows in sorted(actual.items()):
            if len(rows) and name in self._rows and rows[-1] >= self._rows[name]:
                yield f"row {rows[-1]} of {name} is deleted, and it has {self._rows[name]}"

    def _wrong_entries(self, added: Sequence[IndexManifestEntry]) -> Iterator[str]:
        named: set[str] = set()
        for entry in added:
            names = [part.data_file_name for part in entry.dv_ranges or ()]
            size = self._context.file_io.size(self._context.paths.index_file(entry))
            if entry.index_type != DELETION_VECTORS_INDEX or (entry.file_size, entry.row_count) != (size, len(names)):
                yield f"index file {entry.file_name} has {size} bytes and {len(names)} vectors, unlike its entry"
            if any(part.cardinality is None for part in entry.dv_ranges or ()):
                yield f"index file {entry.file_name} has a vector whose rows are not counted"
            if len(set(names)) < len(names) or named & set(names):
                yield f"index file {entry.file_name} has a vector of a file that has another one"
            named |= set(names)


def _rows_of(vector: DeletionVector) -> np.ndarray:
    return np.asarray(vector.positions.to_array(), np.int64)


def _digest(positions: _Positions) -> Digest:
    """Of rows bound to the names of their files."""
    digest = Digest()
    for name, rows in positions.items():
        word = column_words(pa.array([name]))
        digest += Digest.of(mixed(combined([np.repeat(word, len(rows)), rows.astype(_U64)], (0, 1))))
    return digest
