"""What can be freed of a table, by what frees it: `forecast`. Reads metadata and listings, and changes nothing.

Three of its parts are plans: of the next expiry, of a removal of orphan files, and of the next emptying of the bin.
Each of them frees exactly so many bytes if nothing is written before. The others are limits. A tag or branch may hold
files of partitions that are past their retention, and how many rows of one key a merge of all levels finds is only
known once they are read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import pyarrow as pa

from maintenance.amounts import number_of, size_text
from maintenance.errors import UnsupportedError
from maintenance.operations.bin.bytes_in_bin import BytesInBin, due_in_bin
from maintenance.operations.bin.empty_bin import WINDOW, EmptyBin
from maintenance.operations.expiry.expire_partitions import DuePartitions, partitions_due
from maintenance.operations.expiry.rules import RetentionChoice
from maintenance.operations.operation import BY_RETENTION, Operation, OperationReport, Plan, Run, Shown, as_asked
from maintenance.operations.orphans.orphan_bytes import orphan_bytes
from maintenance.operations.orphans.remove_orphan_files import MINIMUM_AGE
from maintenance.operations.parameters import Param
from maintenance.operations.retention.next_expiry import next_expiry
from maintenance.table.shape import table_shape
from maintenance.table.table import Table

OLD_SNAPSHOTS, PARTITIONS, ORPHANS, BIN, LEVELS = (
    "old snapshots",
    "old partitions",
    "orphan files",
    "bin",
    "level rewrite",
)
_FREED_BY = {
    OLD_SNAPSHOTS: "the next expiry",
    PARTITIONS: "the next expiry of partitions and the expiry after it",
    ORPHANS: "the next removal of orphan files",
    BIN: "the next emptying of the bin",
    LEVELS: "a full compaction and the expiry after it",
}


@dataclass(frozen=True, slots=True)
class Freeable:
    """What one thing frees.

    Attributes:
        source: `old snapshots`, `old partitions`, `orphan files`, `bin` or `level rewrite`.
        bytes: None where nobody has counted them; of partitions and a level rewrite the most that it can be.
        files: None where they are not known.
    """

    source: str
    bytes: int | None
    files: int | None = None

    @property
    def freed_by(self) -> str:
        return _FREED_BY[self.source]

    @property
    def is_limit(self) -> bool:
        """Whether it is at most so much."""
        return self.source in (PARTITIONS, LEVELS)

    @property
    def text(self) -> str:
        """``1.4 GiB``, ``up to 1.4 GiB``, ``not counted``."""
        if self.bytes is None:
            return "not counted"
        return f"up to {size_text(self.bytes)}" if self.is_limit and self.bytes else size_text(self.bytes)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What can be freed of a table, in the order of the sources."""

    parts: tuple[Freeable, ...]

    @classmethod
    def of(
        cls,
        expiry: tuple[int, int] | int | None,
        partitions: DuePartitions | None,
        orphans: tuple[int, int] | None,
        in_bin: BytesInBin | None,
        levels: int | None,
    ) -> "Forecast":
        """Of what is known of the parts.

        Args: `expiry`, `orphans`: files and bytes, or bytes; `partitions`: None: they never expire; `levels`: bytes.
        """
        gone = partitions or DuePartitions()
        files, size = expiry if isinstance(expiry, tuple) else (None, expiry)
        return cls(
            (
                Freeable(OLD_SNAPSHOTS, size, files),
                Freeable(PARTITIONS, gone.bytes, gone.files),
                Freeable(ORPHANS, None if orphans is None else orphans[1], None if orphans is None else orphans[0]),
                Freeable(BIN, None if in_bin is None else in_bin.bytes, None if in_bin is None else in_bin.files),
                Freeable(LEVELS, levels),
            )
        )

    @property
    def bytes(self) -> int:
        """What is sure to be freed: all but the limits."""
        return sum(part.bytes or 0 for part in self.parts if not part.is_limit)

    @property
    def text(self) -> str:
        """All of it in one sentence: ``1.4 GiB can be freed: old snapshots 1.4 GiB, level rewrite up to 3.0 MiB``."""
        parts = [f"{part.source} {part.text}" for part in self.parts if part.bytes]
        return f"{size_text(self.bytes)} can be freed" + (f": {', '.join(parts)}" if parts else "")


@dataclass(frozen=True, slots=True)
class ForecastReport(OperationReport):
    """What can be freed.

    Attributes:
        snapshots: ids that the next expiry deletes; `tags`: names.
        kept_by: why the other snapshots stay, by id or range of ids.
    """

    table: str
    moment: datetime
    forecast: Forecast
    snapshots: tuple[int, ...]
    tags: tuple[str, ...]
    kept_by: dict[str, str]


@dataclass(frozen=True, slots=True)
class AskForecast:
    """By which settings. What is left out of the retention comes from the table's options."""

    retain_max: Annotated[int | None, Param("Keep at most this many snapshots.", least=1)] = None
    retain_min: Annotated[int | None, Param("Keep at least this many snapshots.", least=1)] = None
    older_than: Annotated[datetime | None, Param("Only snapshots that are older; a time without a zone is local.")] = (
        None
    )
    minimum_age: Annotated[timedelta, Param("Younger files do not count as orphans, such as 6 h.")] = MINIMUM_AGE
    window: Annotated[timedelta, Param("How long a deletion stays in the bin, such as 7 d.")] = WINDOW
    max_bytes: Annotated[int | None, Param("Maximum size of the bin.", least=0)] = None


def apply(run: Run, table: Table, planned: Plan[AskForecast, None]) -> ForecastReport:
    """Make the plans."""
    asked, now = planned.request, run.moment
    choice = RetentionChoice(asked.retain_max, asked.retain_min, asked.older_than)
    expiry = next_expiry(table, now, choice)
    orphans = orphan_bytes(table, minimum_age=asked.minimum_age, progress=run.progress, now=now)
    return ForecastReport(
        table.identifier,
        now,
        Forecast.of(
            (len(expiry.freed), expiry.bytes),
            partitions_due(table, now),
            (orphans.files, orphans.bytes),
            _due_in_bin(run, table, EmptyBin(asked.window, asked.max_bytes)),
            table_shape(table).mergeable_bytes,
        ),
        tuple(expiry.range.expired),
        tuple(expiry.tags),
        dict(expiry.range.kept_by),
    )


def _due_in_bin(run: Run, table: Table, request: EmptyBin) -> BytesInBin | None:
    try:
        root = run.root()
    except UnsupportedError:
        return None
    if not root:
        return None
    return due_in_bin(table, root, request, run.moment)


def _shown(report: ForecastReport) -> Shown:
    parts: Sequence[Freeable] = report.forecast.parts
    columns = {
        "source": pa.array([part.source for part in parts], pa.string()),
        "files": pa.array([part.files for part in parts], pa.int64()),
        "bytes": pa.array([part.bytes for part in parts], pa.int64()),
        "at_most": pa.array([part.is_limit for part in parts], pa.bool_()),
        "freed_by": pa.array([part.freed_by for part in parts], pa.string()),
    }
    return Shown(pa.table(columns))


def _said(report: ForecastReport) -> Iterator[str]:
    going = f"{number_of(len(report.snapshots), 'snapshot')} and {number_of(len(report.tags), 'tag')}"
    yield f"{report.forecast.text}. The next expiry deletes {going}."


OPERATION = Operation(
    "forecast",
    "Show what can be freed in a table, and what frees it.",
    AskForecast,
    as_asked,
    apply,
    _shown,
    looks_only=True,
    by_tables_yaml=BY_RETENTION,
    takes_options=True,
    said=_said,
    has_job=False,
)


forecast = OPERATION.function(
    """What the next expiry, removal of orphan files and emptying of the bin free of a table or branch, and what an
    expiry of partitions and a merge of all levels free at most.

    Args:
        warehouse: where the bin is; empty = it is not counted.
    Raises: CorruptFileError; OptionError.
    """,
    takes=("warehouse", "now"),
)
