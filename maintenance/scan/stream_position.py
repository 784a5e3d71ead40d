"""The position of a stream, and the limits of one batch.

A position says what to read next: the splits of a snapshot from a number on; everything before has been read. The
splits of a snapshot have one order, so a position means the same after a restart. Source: Java `PaimonSourceOffset`,
`PaimonReadLimits`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from maintenance.errors import OptionError
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.options.model import TableModel
from maintenance.options.option import Option
from maintenance.options.streams import LIMITS, MAX_BYTES, MAX_DELAY, MAX_FILES, MAX_ROWS, MIN_ROWS
from maintenance.scan.split import AnySplit


@dataclass(frozen=True, slots=True, order=True)
class StreamPosition:
    """What is read next.

    Attributes:
        snapshot_id: of this snapshot,
        splits: the splits from this number on.
        full: its whole state, as the start of a stream may read it; else its changes.
        seen: the last snapshot of which something was read, None = nothing was, or it is not known. It tells whether
            what comes next still follows what was read.
    """

    snapshot_id: int
    splits: int = 0
    full: bool = False
    seen: SnapshotIdentity | None = field(default=None, compare=False)

    @classmethod
    def of_json(cls, stored: Mapping[str, object]) -> "StreamPosition":
        """The position of an offset in a checkpoint. Raises: OptionError: it is not an offset of this source."""
        try:
            seen = SnapshotIdentity.parse(stored.get("seen"))
            return cls(int(str(stored["snapshot"])), int(str(stored["splits"])), bool(stored["full"]), seen)
        except (KeyError, ValueError) as error:
            raise OptionError(
                f"{dict(stored)} is not a position of this source",
                "the checkpoint",
                "Use the checkpoint of this stream.",
            ) from error

    def to_json(self) -> dict[str, int | bool | str]:
        position: dict[str, int | bool | str] = {
            "snapshot": self.snapshot_id,
            "splits": self.splits,
            "full": self.full,
        }
        return position if self.seen is None else {**position, "seen": str(self.seen)}

    @property
    def following(self) -> "StreamPosition":
        """The changes of the next snapshot."""
        return StreamPosition(self.snapshot_id + 1)

    def until(self, end: "StreamPosition") -> Iterator[tuple["StreamPosition", int | None]]:
        """The parts of snapshots from here to an end: where each begins, and before which split it ends, None = all."""
        at = self
        while at.snapshot_id < end.snapshot_id:
            yield at, None
            at = at.following
        if at.splits < end.splits:
            yield StreamPosition(at.snapshot_id, at.splits, end.full), end.splits


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one batch takes, None = any amount: it ends with the split that reaches a maximum.

    Attributes:
        min_rows, max_delay: a batch of fewer rows waits, at most this many milliseconds since the last one.
    """

    max_files: int | None = None
    max_bytes: int | None = None
    max_rows: int | None = None
    min_rows: int | None = None
    max_delay: int | None = None

    @classmethod
    def of(cls, options: TableModel) -> "Limits":
        """Raises: OptionError: a minimum without a delay, or the other way round. `options`: keys in any case."""
        by_lower_key = {key.lower(): value for key, value in options.items()}

        def value(option: Option[int | None]) -> int | None:
            lowered = option.key.lower()
            return option.of({option.key: by_lower_key[lowered]} if lowered in by_lower_key else {})

        limits = cls(value(MAX_FILES), value(MAX_BYTES), value(MAX_ROWS), value(MIN_ROWS), value(MAX_DELAY))
        if (limits.min_rows is None) != (limits.max_delay is None):
            problem = f"only one of '{MIN_ROWS.key}' and '{MAX_DELAY.key}' is set"
            raise OptionError(problem, "options", f"Set '{MIN_ROWS.key}' and '{MAX_DELAY.key}', or neither.")
        return limits

    @property
    def is_set(self) -> bool:
        return self != Limits()


LIMIT_KEYS = frozenset(option.key.lower() for option in LIMITS)


@dataclass(slots=True)
class Admission:
    """Counts what a batch takes. A split is whole or not at all, and the first one is always taken."""

    limits: Limits
    files: int = 0
    bytes: int = 0
    rows: int = 0

    def admit(self, split: AnySplit) -> bool:
        """Take a split if no maximum is reached yet."""
        limits = self.limits
        if (
            (limits.max_files is not None and self.files >= limits.max_files)
            or (limits.max_bytes is not None and self.bytes >= limits.max_bytes)
            or (limits.max_rows is not None and self.rows >= limits.max_rows)
        ):
            return False
        self.files += split.file_count
        self.bytes += split.size
        self.rows += split.row_count
        return True

    @property
    def too_little(self) -> bool:
        return self.limits.min_rows is not None and self.rows < self.limits.min_rows
