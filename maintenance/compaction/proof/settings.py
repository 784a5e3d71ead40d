"""How a rewrite is verified, and the result."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from maintenance.errors import OptionError
from maintenance.types.row_hash import Digest

_SAMPLED_SHIFT = 4
_MAX_SHIFT = 16


class ProofMode(StrEnum):
    """Which rows are proved.

    AUTO: all of a group, of a very large one those of a share of its keys; FULL: all, and files are read back whole;
    SAMPLED: those of one key in 16; OFF: none.
    """

    AUTO = "auto"
    FULL = "full"
    SAMPLED = "sampled"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class ProofSettings:
    """How to prove.

    Attributes:
        hashes: of a group that are held at a time in mode ``auto``, eight bytes each: where the rows of a group need
            more, a half, a quarter, ... of its keys are proved.
        read_back: rows of a group that are read again from its new files, from the start of each; all in mode ``full``.
    """

    mode: ProofMode = ProofMode.AUTO
    hashes: int = 1 << 19
    read_back: int = 1 << 15

    @classmethod
    def of(cls, mode: str) -> "ProofSettings":
        """Raises: OptionError: there is no such mode."""
        try:
            return cls(ProofMode(mode))
        except ValueError:
            raise OptionError(f"proof = '{mode}'", "compaction", f"It is one of {', '.join(ProofMode)}.") from None

    def shift(self, rows: int, hashes_of_a_row: int) -> int:
        """How many bits of a key's hash must be zero for the key to be proved."""
        match self.mode:
            case ProofMode.SAMPLED:
                return _SAMPLED_SHIFT
            case ProofMode.AUTO:
                needed = rows * hashes_of_a_row
                return next((bits for bits in range(_MAX_SHIFT) if needed >> bits <= self.hashes), _MAX_SHIFT)
        return 0

    def read_back_rows(self, rows: int) -> int:
        return rows if self.mode == ProofMode.FULL else min(rows, self.read_back)


@dataclass(frozen=True, slots=True)
class ProofResult:
    """What a proof has looked at. Nothing but a whole proof has one.

    Attributes:
        mode: ``full``, ``sampled`` or ``off``.
        share: one key in this many was verified.
        rows_in, rows_out: rows read and written, all of them counted.
        digest: of the rows written that were proved.
        by_key: columns of which only keys with a single record are proved by value.
        keys_by_count: keys proved by nothing but that they were among those read: retractions took part in them.
        read_back: rows read again from the new files.
        seconds: of processor time.
    """

    mode: str = ProofMode.OFF
    share: int = 1
    rows_in: int = 0
    rows_out: int = 0
    digest: Digest = field(default_factory=Digest)
    by_key: tuple[str, ...] = ()
    keys_by_count: int = 0
    read_back: int = 0
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """For reports, one line; empty where nothing was proved."""
        if self.mode == ProofMode.OFF:
            return ""
        share = f" (1 key in {self.share})" if self.share > 1 else ""
        return f"{self.mode}{share}: {self.digest}"

    @property
    def summary(self) -> dict[str, object]:
        """For reports, by name."""
        return {
            "mode": str(self.mode),
            "one key in": self.share,
            "rows read": self.rows_in,
            "rows written": self.rows_out,
            "digest": self.digest.text,
            "columns proved by key": list(self.by_key),
            "keys only counted": self.keys_by_count,
            "rows read back": self.read_back,
            "seconds": round(self.seconds, 3),
        }


def together(results: Sequence[ProofResult]) -> ProofResult:
    """The proofs of several rewrites as one."""
    if not results:
        return ProofResult()
    modes = {result.mode for result in results}
    return ProofResult(
        mode=next(mode for mode in (ProofMode.OFF, ProofMode.SAMPLED, ProofMode.FULL) if mode in modes),
        share=max(result.share for result in results),
        rows_in=sum(result.rows_in for result in results),
        rows_out=sum(result.rows_out for result in results),
        digest=sum((result.digest for result in results), Digest()),
        by_key=tuple(sorted({name for result in results for name in result.by_key})),
        keys_by_count=sum(result.keys_by_count for result in results),
        read_back=sum(result.read_back for result in results),
        seconds=sum(result.seconds for result in results),
    )
