"""What creating and dropping global indexes have in common."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maintenance.commit.identity import CommitIdentity
from maintenance.errors import PredicateError
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.metadata.partition_names import Spec
from maintenance.metadata.partition_value import covering
from maintenance.operations.compaction.partition_choice import check_partitions
from maintenance.operations.operation import OperationReport
from maintenance.table.partitions import named_partitions
from maintenance.table.table import Table, identity_of

Specs = Sequence[Spec]


@dataclass(frozen=True, slots=True)
class GlobalIndexReport(OperationReport):
    """What was created or dropped, or would be.

    Attributes: `files`: index files, `rows`: that they cover, `bytes`: of the files; `snapshot_id`: None if nothing
        changed; `attempts`: how often it was planned; `file_names`: of the files.
    """

    table: str
    column: str
    index_type: str
    files: int
    rows: int
    bytes: int
    snapshot_id: int | None
    attempts: int = 1
    seconds: float = 0.0
    file_names: tuple[str, ...] = ()


def columns_named(table: Table, column: str) -> list[str]:
    """The columns of names with commas between them. Raises: PredicateError: there is none, or one is not there."""
    names = [name.strip() for name in column.split(",") if name.strip()]
    for name in names:
        if name not in table.schema.field_names:
            fix = "Name a column of the table as index_column."
            raise PredicateError(f"there is no column '{name}'", f"table {table.identifier}", fix)
    if not names:
        raise PredicateError("no column is named", f"table {table.identifier}", "Name the column to index.")
    return names


def in_partitions(table: Table, partitions: Specs) -> Callable[[bytes], bool]:
    """Says whether a partition is one of those named, empty = all. Raises: NotFoundError: one fits no partition."""
    if not partitions:
        return lambda _: True
    chosen = named_partitions(table, partitions)
    check_partitions(table, chosen)
    return covering(table.schema.partition_fields, chosen)


def identity(table: Table, verb: str) -> CommitIdentity:
    """Of the commit of one of them."""
    return identity_of(table, f"{verb}_global_index")


def report_of(
    table: Table,
    column: str,
    index_type: str,
    entries: Sequence[IndexManifestEntry],
    snapshot_id: int | None,
    attempts: int,
    started: float,
) -> GlobalIndexReport:
    """The report of an operation on these index files. `started`: monotonic time."""
    return GlobalIndexReport(
        table.identifier,
        column,
        index_type,
        len(entries),
        sum(entry.row_count for entry in entries),
        sum(entry.file_size for entry in entries),
        snapshot_id,
        attempts,
        time.monotonic() - started,
        tuple(sorted(entry.file_name for entry in entries)),
    )
