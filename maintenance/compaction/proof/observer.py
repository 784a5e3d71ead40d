"""The rows that reach the encoders of new files, observed outside of the writer, after its rolling and counting."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from maintenance.compaction.proof.hashing import ROWS, HashedRows, Hashing
from maintenance.format.rows.system_fields import KEY_FIELD_PREFIX
from maintenance.types.row_hash import BLOCK_ROWS, Digest, column_words, strictly_ascending, total
from maintenance.types.row_kind import is_retract

HEAD_ROWS = 1 << 13


@dataclass(slots=True)
class FileSeen:
    """What was handed to the encoder of one file.

    Attributes:
        first, last: rows with the key's columns; None without a key.
        ascending: keys ascend strictly, and `_KEY_` columns hold what the columns of the key hold.
        head: the digest of the first `head_rows` rows.
        digest: of all rows that are proved.
    """

    rows: int = 0
    retracts: int = 0
    low: int = 2**63 - 1
    high: int = -(2**63)
    first: pa.Table | None = None
    last: pa.Table | None = None
    ascending: bool = True
    head: Digest = field(default_factory=Digest)
    digest: Digest = field(default_factory=Digest)
    head_rows: int = 0


class WrittenRows:
    """Sees the rows of the files that one writer writes. `ordered`: keys must ascend, as in all but changelog files.

    `gather` collects what else is needed of the rows; `wants`: the hashes it asks for.
    """

    def __init__(self, hashing: Hashing, *, ordered: bool, digests: bool = True) -> None:
        self._hashing = hashing
        self._ordered = ordered
        self._digests = digests
        self.files: dict[str, FileSeen] = {}
        self.wants: tuple[str, ...] = ()

    @property
    def digest(self) -> Digest:
        """Of all files."""
        return total(seen.digest for seen in self.files.values())

    @property
    def rows(self) -> int:
        return sum(seen.rows for seen in self.files.values())

    def wrote(self, name: str, rows: pa.Table) -> None:
        """Rows as the columns of the file."""
        seen = self.files.setdefault(name, FileSeen())
        # About a block of rows is proved of each part.
        part = BLOCK_ROWS << min(self._hashing.shift, 4)
        for start in range(0, rows.num_rows, part):
            self._see(seen, rows.slice(start, part))

    def _see(self, seen: FileSeen, rows: pa.Table) -> None:
        hashed = HashedRows(rows, self._hashing)
        if self._hashing.key:
            self._note_keys(seen, hashed)
        sampled = hashed.sampled()
        whole = None
        if self._digests:
            whole = sampled.hash(*self.wants, ROWS).of(ROWS)
            seen.digest += Digest.of(whole)
        if seen.head_rows < HEAD_ROWS:
            count = min(rows.num_rows, HEAD_ROWS - seen.head_rows)
            if whole is None or sampled is not hashed:
                whole = HashedRows(rows.slice(0, count), self._hashing).of(ROWS)
            seen.head += Digest.of(whole[:count])
            seen.head_rows += count
        self.gather(sampled)
        seen.rows += rows.num_rows

    def gather(self, rows: HashedRows) -> None:
        """For those who want to know more of the rows that are proved."""

    def _note_keys(self, seen: FileSeen, hashed: HashedRows) -> None:
        rows = hashed.rows
        if not rows.num_rows:
            return
        seen.retracts += int(np.count_nonzero(is_retract(hashed.kinds)))
        numbers = hashed.numbers
        seen.low, seen.high = min(seen.low, int(numbers.min())), max(seen.high, int(numbers.max()))
        key = rows.select(list(self._hashing.key))
        if self._ordered:
            seen.ascending &= strictly_ascending(_contiguous(key))
            if seen.last is not None:
                border = pa.concat_tables([seen.last, key.slice(0, 1)])
                seen.ascending &= strictly_ascending(_contiguous(border))
        seen.ascending &= all(_same(rows, name) for name in self._hashing.key)
        if seen.first is None:
            seen.first = key.slice(0, 1)
        seen.last = key.slice(rows.num_rows - 1)


def _contiguous(rows: pa.Table) -> list[pa.Array]:
    return [c.chunk(0) if c.num_chunks == 1 else pa.concat_arrays(c.chunks) for c in rows.columns]


def _same(rows: pa.Table, name: str) -> bool:
    """Whether the file's key column holds what the table's column holds; it does where there is none."""
    stored = KEY_FIELD_PREFIX + name
    if stored not in rows.column_names:
        return True
    left, right = rows.column(stored), rows.column(name)
    if left.num_chunks == right.num_chunks == 1 and _buffers(left) == _buffers(right):
        return True
    return bool((column_words(left) == column_words(right)).all())


def _buffers(column: pa.ChunkedArray) -> list[tuple[int, int] | None]:
    chunk = column.chunk(0)
    addresses = [None if buffer is None else (buffer.address, buffer.size) for buffer in chunk.buffers()]
    return [(chunk.offset, len(chunk)), *addresses]
