"""The proof of files that are written again with higher sequence numbers, and of the order that follows.

The rows of the new file are those of the old one with the same amount added to each number. What is expected is worked
out from the rows as they are read; what is given is what the encoder gets, and what the file holds when read again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from maintenance.compaction.proof import files as rules
from maintenance.compaction.proof.findings import Findings, Timer
from maintenance.compaction.proof.hashing import ROWS, HashedRows
from maintenance.compaction.proof.observer import WrittenRows
from maintenance.compaction.proof.results import ProofRules
from maintenance.compaction.proof.settings import ProofMode, ProofResult, ProofSettings
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER
from maintenance.read.data_file import DataFileReader
from maintenance.types.row_hash import Digest
from maintenance.write.context import WriteContext


class RenumberProof:
    """Watches one file being written again. `shift`: what is to be added to its numbers."""

    def __init__(self, settings: ProofSettings, write: WriteContext, file: DataFileMeta, shift: int) -> None:
        self._settings, self._file, self._shift = settings, file, shift
        self._schema = write.schema
        self._hashing = ProofRules(write).hashing(settings, [file])
        self._timer = Timer()
        self._expected = Digest()
        self._rows = 0
        self.observer = WrittenRows(self._hashing, ordered=True)

    def reads(self, rows: pa.Table) -> None:
        """Rows as they leave the old file."""
        with self._timer:
            self._rows += rows.num_rows
            at = rows.column_names.index(SEQUENCE_NUMBER.name)
            numbers = rows.column(at).to_numpy() + np.int64(self._shift)
            due = HashedRows(rows.set_column(at, SEQUENCE_NUMBER.name, pa.array(numbers)), self._hashing).sampled()
            self._expected += Digest.of(due.of(ROWS))

    def check(self, made: Sequence[DataFileMeta], read_again: Callable[[DataFileMeta], DataFileReader]) -> ProofResult:
        """Raises: Findings: something is wrong."""
        with self._timer:
            name, written = self._file.file_name, self.observer.digest
            wrong = [*rules.written_files(made, self.observer, self._schema)]
            if self._rows != self._file.row_count:
                wrong.append(f"{self._rows} rows of {name} were read, and it holds {self._file.row_count}")
            if written != self._expected or self.observer.rows != self._rows:
                wrong.insert(0, f"the rows of {name} are not the same with higher sequence numbers")
            if any(file.level != self._file.level for file in made):
                wrong.append(f"{name} is on level {self._file.level}, but its replacement is not")
            read_back = 0
            if not wrong:
                whole = self._settings.mode == ProofMode.FULL
                rows = self._rows if whole else min(self._rows, self._settings.read_back)
                readers = {file.file_name: read_again(file) for file in made}
                read_back, wrong = rules.ReadBack(self._hashing, readers, rows, whole).check(self.observer)
        if wrong:
            raise Findings(wrong, self._expected, written)
        mode, share = ProofMode.SAMPLED if self._hashing.shift else ProofMode.FULL, 1 << self._hashing.shift
        return ProofResult(mode, share, self._rows, self.observer.rows, written, (), 0, read_back, self._timer.seconds)


def not_ascending(parts: Mapping[int, Sequence[Sequence[DataFileMeta]]], before: Mapping[int, int]) -> Iterator[str]:
    """What is wrong with the order of files: the numbers of each part must be higher than those of the parts before.

    Args: `parts`: of each bucket, in the order in which their rows were committed; `before`: the largest number in each
        bucket of what is older than all of them.
    """
    for bucket, ordered in parts.items():
        last = before.get(bucket, -1)
        for files in ordered:
            lowest = min(file.min_sequence_number for file in files)
            if lowest <= last:
                yield f"in bucket {bucket} sequence number {lowest} is not higher than those of rows committed before"
            last = max([last, *(file.max_sequence_number for file in files)])
