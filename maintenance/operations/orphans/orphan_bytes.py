"""How much of a table nothing names: the search of `remove_orphan_files`, counted. Changes nothing."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.operations.orphans.orphan_removal import Orphan, OrphanRemoval, orphans_of
from maintenance.operations.orphans.remove_orphan_files import MINIMUM_AGE, cutoff
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class OrphanKind:
    """The orphans of one kind, such as ``data file``."""

    kind: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class OrphanBytes:
    """What nothing names.

    Attributes:
        older_than: files changed at that time or later do not count as orphans.
        files, bytes: of the orphans.
        scanned_files, scanned_bytes: of all files in the folders that were listed, of any age.
        kinds: the orphans by kind, the largest kind first.
        largest: the largest orphans.
    """

    table: str
    older_than: datetime
    files: int
    bytes: int
    scanned_files: int
    scanned_bytes: int
    kinds: tuple[OrphanKind, ...]
    largest: tuple[Orphan, ...]
    seconds: float

    @property
    def share(self) -> float:
        """Of the bytes of all files, 0 to 1."""
        return self.bytes / self.scanned_bytes if self.scanned_bytes else 0.0


def orphan_bytes(
    table: Table,
    *,
    spark: "SparkSession | None" = None,
    minimum_age: timedelta = MINIMUM_AGE,
    largest: int = 20,
    progress: Callable[[str], None] | None = None,
    now: datetime | None = None,
) -> OrphanBytes:
    """Count the files of a table, of all its branches, that nothing names.

    Args: `spark`, `minimum_age`, `progress`, `now`: as of `remove_orphan_files`; `largest`: how many files to name.
    Raises: as `remove_orphan_files`.
    """
    started = time.monotonic()
    moment = cutoff(None, minimum_age, datetime.now(UTC) if now is None else now)
    removal = OrphanRemoval(spark, table, moment, None, progress or (lambda _: None))
    orphans = removal.find()
    by_kind = (
        orphans.group_by("kind")
        .aggregate([("bytes", "count"), ("bytes", "sum")])
        .sort_by([("bytes_sum", "descending"), ("kind", "ascending")])
    )
    return OrphanBytes(
        table=table.identifier,
        older_than=moment,
        files=len(orphans),
        bytes=pc.sum(orphans.column("bytes")).as_py() or 0,
        scanned_files=removal.scanned,
        scanned_bytes=removal.scanned_bytes,
        kinds=tuple(OrphanKind(row["kind"], row["bytes_count"], row["bytes_sum"]) for row in by_kind.to_pylist()),
        largest=tuple(orphans_of(_largest(orphans, largest))),
        seconds=time.monotonic() - started,
    )


def _largest(found: pa.Table, count: int) -> pa.Table:
    if not len(found):  # pyarrow before 26 cannot choose from nothing
        return found
    order = pc.select_k_unstable(found, min(count, len(found)), [("bytes", "descending"), ("path", "ascending")])
    return found.take(order)
