"""Which rows of a data file are read."""

from dataclasses import dataclass, replace

import numpy as np
from pyroaring import BitMap

from maintenance.format.metadata.deletion_vector import DeletionVector
from maintenance.fs.file_io import FileIO
from maintenance.metadata.manifests import DeletionFile
from maintenance.read.deletions import read_vector


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Which rows of a data file are read, or of a group of files with the same rows. Rows are numbered from 0.

    Attributes:
        deletion: where the deletion vector is, whose rows are left out; None = no row is deleted.
        vector: the deletion vector itself, in the place of `deletion`.
        candidates: the rows that may match a filter, as indexes say (`Split.candidates`); None = all.
        exactly: these rows, ascending and not deleted, whatever the others say; None = as the others say.
    """

    deletion: DeletionFile | None = None
    vector: DeletionVector | None = None
    candidates: BitMap | None = None
    exactly: np.ndarray | None = None

    def loaded(self, file_io: FileIO, count: int) -> "RowSelection":
        """With the deletion vector at hand. `count`: rows of the file. Raises: CorruptFileError: it is damaged."""
        if self.exactly is not None or self.vector is not None or self.deletion is None:
            return self
        return replace(self, vector=read_vector(file_io, self.deletion, count))

    def narrowed(self, candidates: BitMap | None) -> "RowSelection":
        """Without the rows that another index rules out. `candidates`: those that it leaves; None = all."""
        if candidates is None:
            return self
        both = candidates if self.candidates is None else candidates & self.candidates
        return replace(self, candidates=both)

    @property
    def is_all(self) -> bool:
        """Whether no row is left out."""
        return all(each is None for each in (self.deletion, self.vector, self.candidates, self.exactly))

    @property
    def only_deletes(self) -> bool:
        """Whether a deletion vector is all that there is to ask; it is at hand."""
        return self.vector is not None and self.candidates is None and self.exactly is None

    def live(self, count: int) -> np.ndarray:
        """Which of the rows are not deleted. bool, shape (count,)."""
        return np.ones(count, bool) if self.vector is None else self.vector.kept(count)

    def numbers(self, count: int) -> np.ndarray | None:
        """The numbers of the rows, ascending; None = all. int64."""
        if self.exactly is not None:
            return self.exactly
        chosen = None if self.candidates is None else np.asarray(self.candidates.to_array(), np.int64)
        if self.vector is None:
            return chosen
        live = self.live(count)
        return np.flatnonzero(live) if chosen is None else chosen[live[chosen]]


ALL_ROWS = RowSelection()
