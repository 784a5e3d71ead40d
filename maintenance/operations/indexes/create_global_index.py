"""Procedure `create_global_index`: an index from the values of a column to row ids.

Tables with data evolution have them. An index covers the rows that were there when it was built; creating it again
covers the rows that were added since. Building reads the column alone, one task for each index file; an APPEND snapshot
publishes all files at once. Reads look up filters in the indexes and read the other rows as ever.
Source: data section 10.1, Java `CreateGlobalIndexProcedure`.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from maintenance.commit.columns import commit_global_indexes
from maintenance.errors import ConflictError, OptionError, UnsupportedError
from maintenance.format.global_index.keys import check_keys
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.partition_names import Spec
from maintenance.operations.indexes.global_index_files import GlobalIndexTask, build_index_file, index_tasks
from maintenance.operations.indexes.global_index_report import (
    GlobalIndexReport,
    Specs,
    columns_named,
    identity,
    in_partitions,
    report_of,
)
from maintenance.operations.operation import Operation, Plan, Run, Shown, as_asked
from maintenance.operations.parameters import Param, Value, text
from maintenance.operations.refs.trigger_tag_automatic_creation import tag_after_commit
from maintenance.options import table as table_options
from maintenance.options.global_index import SORTED_INDEX_RECORDS_PER_RANGE
from maintenance.options.known import state_of
from maintenance.options.state import Harmless
from maintenance.scan.global_index import TYPES
from maintenance.spark.tasks import all_done, run_tasks
from maintenance.table.planning import plan_state
from maintenance.table.table import Table
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ATTEMPTS = 5
_OPTIONS = (SORTED_INDEX_RECORDS_PER_RANGE.key, *SORTED_INDEX_RECORDS_PER_RANGE.fallbacks)


def _lower(value: Value) -> str:
    return text(value).strip().lower()


@dataclass(frozen=True, slots=True)
class CreateGlobalIndex:
    """Which column gets which index."""

    column: Annotated[str, Param("The column to index.", name="index_column")]
    index_type: Annotated[str, Param("btree or bitmap.", read=_lower)]
    partitions: Annotated[Sequence[Spec], Param("Only these partitions; empty: all.")] = ()
    options: Annotated[
        Mapping[str, str] | None, Param("Options of the index, such as sorted-index.records-per-range.")
    ] = None


def apply(run: Run, table: Table, planned: Plan[CreateGlobalIndex, None]) -> GlobalIndexReport:
    """Build the index for the rows that it does not cover yet."""
    column, index_type, partitions = planned.request.column, planned.request.index_type, planned.request.partitions
    started = time.monotonic()
    field = _checked(table, column, index_type)
    records = SORTED_INDEX_RECORDS_PER_RANGE.of({**table.options, **_own_options(planned.request.options or {})})
    for attempt in range(1, _ATTEMPTS + 1):
        snapshot = table.latest_snapshot()
        tasks = [] if snapshot is None else _tasks(table, snapshot, field, index_type, partitions, records)
        if not tasks or snapshot is None:
            return report_of(table, column, index_type, (), None, attempt, started)
        added = all_done(run_tasks(run.session(), build_index_file, tasks), table.identifier)
        try:
            made = commit_global_indexes(table.commit_target(), added, (), identity(table, "create"), snapshot)
        except ConflictError:
            if attempt == _ATTEMPTS:
                raise
            continue
        tag_after_commit(table, wrote_rows=False)
        return report_of(table, column, index_type, added, made, attempt, started)
    raise AssertionError("the last attempt returns or raises")


OPERATION = Operation(
    "create_global_index",
    "Build a btree or bitmap index over a column of a table.",
    CreateGlobalIndex,
    as_asked,
    apply,
    shown=lambda report: Shown(nothing_to_do=not report.files),
    has_dry_run=False,
    takes_options=True,
    uses_spark=True,
    has_job=False,
)


def _checked(table: Table, column: str, index_type: str) -> DataField:
    where = f"table {table.identifier}"
    table_options.check_writable(table.options, table.identifier)
    tracked = table.model.tracks_rows
    if not tracked or not table.model.evolves:
        raise UnsupportedError(
            "a global index of a table without 'row-tracking.enabled' and 'data-evolution.enabled'",
            where,
            "Use file indexes: CALL sys.rewrite_file_index.",
        )
    if index_type not in TYPES:
        raise UnsupportedError(
            f"building a global index of type '{index_type}'",
            where,
            f"There are {' and '.join(TYPES)}; build vector and full-text indexes with Paimon's own jobs.",
        )
    (name, *more) = columns_named(table, column)
    if more:
        raise UnsupportedError(f"a {index_type} index of several columns", where, "Build one for each column.")
    field = table.schema.field(name)
    check_keys(field.type, f"{where}, column {name}")
    return field


def _own_options(options: Mapping[str, str]) -> Mapping[str, str]:
    for key in options:
        if key not in _OPTIONS and not isinstance(state_of(key), Harmless):
            raise OptionError(f"option '{key}' of an index", "options", f"Use the option '{_OPTIONS[0]}', or none.")
    return options


def _tasks(
    table: Table, snapshot: Snapshot, field: DataField, index_type: str, partitions: Specs, records: int
) -> list[GlobalIndexTask]:
    _, read = plan_state(table, snapshot)
    chosen = in_partitions(table, partitions)
    entries = [entry for entry in table.manifests.live_entries(snapshot) if chosen(entry.partition)]
    existing = [
        entry
        for entry in table.manifests.read_index(snapshot)
        if entry.index_type == index_type
        and entry.global_index is not None
        and entry.global_index.index_field_id == field.id
    ]
    return list(index_tasks(read, snapshot.id, entries, existing, field, index_type, records))


def create_global_index(
    spark: "SparkSession | None",
    table: Table,
    column: str,
    index_type: str = "btree",
    *,
    partitions: Specs = (),
    options: Mapping[str, str] | None = None,
) -> GlobalIndexReport:
    """Build a global index for the rows that it does not cover yet.

    Args: `index_type`: `btree` or `bitmap`; `partitions`: columns to texts, empty = all; `options`:
        `sorted-index.records-per-range`.
    Raises: UnsupportedError: the table has no data evolution, or there is no such index of the column; OptionError;
        PredicateError: there is no such column; ConflictError: others kept changing the rows; CommitError.
    """
    return OPERATION.run(Run(spark), table, CreateGlobalIndex(column, index_type, partitions, options))
