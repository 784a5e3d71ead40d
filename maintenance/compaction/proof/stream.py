"""The proof of rewrites that keep every row: small files put together, and files in another order.

As many rows are read as manifests say, without those that are deleted, and the digest of the rows that reach the
encoders is that of the rows read. Rows have no key, so all of them are proved, in every mode but ``off``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa

from maintenance.compaction.proof import files as rules
from maintenance.compaction.proof.findings import Findings, Timer
from maintenance.compaction.proof.hashing import ROWS, HashedRows, Hashing
from maintenance.compaction.proof.observer import WrittenRows
from maintenance.compaction.proof.settings import ProofMode, ProofResult, ProofSettings
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.read.data_file import DataFileReader
from maintenance.types.row_hash import Digest
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage


class _Output(WrittenRows):
    def __init__(self, hashing: Hashing, timer: Timer) -> None:
        super().__init__(hashing, ordered=False)
        self._timer = timer

    def wrote(self, name: str, rows: pa.Table) -> None:
        with self._timer:
            super().wrote(name, rows)


class StreamProof:
    """Watches the rewrite of some files, and judges it in the end.

    Args: `gone`: deleted rows by name of file, None = unknown.
    """

    def __init__(
        self,
        settings: ProofSettings,
        write: WriteContext,
        files: Sequence[DataFileMeta],
        gone: Mapping[str, int | None],
    ) -> None:
        self._settings, self._write, self._files, self._gone = settings, write, files, gone
        self._timer = Timer()
        self._hashing = Hashing(tuple(field.name for field in write.row_fields))
        self._read = 0
        self.output = _Output(self._hashing, self._timer)
        self.taken = Digest()

    def reads(self, rows: pa.Table) -> None:
        """Rows as they are read."""
        self._read += rows.num_rows
        with self._timer:
            self.taken += Digest.of(HashedRows(rows, self._hashing).of(ROWS))

    def check(
        self,
        message: CommitMessage,
        read_again: Callable[[DataFileMeta], DataFileReader],
        *,
        expected: Digest | None = None,
    ) -> ProofResult:
        """Args: `expected`: the digest due where others read the rows; None = of what was read.

        Raises: Findings: something is wrong.
        """
        with self._timer:
            due = self.taken if expected is None else expected
            written = self.output.digest
            wrong: list[str] = []
            if expected is None:
                wrong += wrong_rows(self._files, self._gone, self._read)
            if due != written:
                wrong.insert(0, "the rows of the new files are not those read")
            wrong += rules.replaced_files(self._files, message)
            wrong += rules.written_files(message.compact_after, self.output, self._write.schema)
            read_back = 0
            if not wrong:
                readers = {file.file_name: read_again(file) for file in message.compact_after}
                limit, whole = self._settings.read_back_rows(self.output.rows), self._settings.mode == ProofMode.FULL
                read_back, wrong = rules.ReadBack(self._hashing, readers, limit, whole).check(self.output)
        if wrong:
            raise Findings(wrong, due, written)
        return ProofResult(
            ProofMode.FULL, 1, self._read, self.output.rows, written, read_back=read_back, seconds=self._timer.seconds
        )


def rows_once(files: Sequence[DataFileMeta]) -> list[DataFileMeta]:
    """The files without those that hold further columns of the rows of others."""
    by_rows = {(file.first_row_id, file.first_row_id is None and file.file_name): file for file in files}
    return list(by_rows.values())


def wrong_rows(files: Sequence[DataFileMeta], gone: Mapping[str, int | None], read: int) -> Iterator[str]:
    """Whether other numbers of rows were read than files hold. `gone`: deleted rows of files; None = unknown."""
    files = rows_once(files)
    deleted = [gone.get(file.file_name, 0) for file in files]
    if None not in deleted:
        due = sum(file.row_count for file in files) - sum(count or 0 for count in deleted)
        if due != read:
            yield f"{read} rows were read, and the files hold {due}"
