"""Plan a batch read of a table: what its scan options ask for becomes splits, and how to read them.

A table with `scan.fallback-branch` reads the partitions that it lacks from that branch; with `scan.primary-branch` it
is the other way round: partitions that the named branch has come from there. Which partitions a side has is judged by
the filter's conditions on partition columns alone. A branch that is not there leaves the table as it is.
Source: metadata section 10.7, Java `FallbackReadFileStoreTable`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maintenance.errors import UnsupportedError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.rows.system_fields import ROW_ID, SEQUENCE_NUMBER
from maintenance.metadata.expired import again_if_expired
from maintenance.options import table as table_options
from maintenance.predicate.sql import parse
from maintenance.predicate.tree import In, Predicate, conjunction, restrict
from maintenance.read.blobs import blobs_as_stored
from maintenance.read.data_file import read_fields
from maintenance.read.defaults import stored_predicate
from maintenance.read.split_read import SplitRead
from maintenance.scan.changes import plan_changes, plan_difference
from maintenance.scan.plan import ScanPlan, ScanSource, live_entries, plan_scan, since
from maintenance.scan.split import Split
from maintenance.scan.startup import Latest, startup_of
from maintenance.scan.target import Difference, FullState, RecordChanges, ScanTarget
from maintenance.table.blob_views import TableViews
from maintenance.table.chain import ChainBranches, chain_of, chained_splits, only_changed
from maintenance.table.chosen_partitions import chosen_partitions, of_bucket
from maintenance.table.handle import TableHandle
from maintenance.table.other_branches import branches_of
from maintenance.table.waiting import sees_waiting_rows, with_waiting
from maintenance.types.data_type import DataField


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What a read wants of a table.

    Attributes:
        columns: names, None = all.
        predicate: rows to return, None = all.
        where: the same as SQL text, in place of `predicate`.
        system: `_SEQUENCE_NUMBER` or `_VALUE_KIND`, to be read before the columns.
        keep_retractions: as of `SplitRead`.
    """

    columns: Sequence[str] | None = None
    predicate: Predicate | None = None
    where: str | None = None
    system: Sequence[DataField] = ()
    keep_retractions: bool = False

    def of(self, seen: TableHandle) -> "ReadRequest":
        """The request with its filter parsed over the columns of a table under the schema that is read."""
        return self if self.where is None else replace(self, predicate=filter_of(seen, self.where), where=None)


def filter_of(seen: TableHandle, where: str) -> Predicate:
    """The filter of a SQL text. `seen`: the table under the schema to read it with. Raises: PredicateError."""
    return parse(where, (*seen.schema.fields, *tracked_fields(seen)))


def tracked_fields(table: TableHandle) -> tuple[DataField, ...]:
    """The columns that a table whose rows are tracked has besides its own."""
    return (ROW_ID, SEQUENCE_NUMBER) if table.model.tracks_rows else ()


def plan_read(table: TableHandle, request: ReadRequest) -> tuple[ScanPlan, SplitRead]:
    """Splits of a batch read, and how to read them. Planned again if what is read expires meanwhile."""
    return again_if_expired(lambda: _plan_confined(table, request))


def _plan_confined(table: TableHandle, request: ReadRequest) -> tuple[ScanPlan, SplitRead]:
    """The plan of the partitions and the bucket that the read's options name."""
    chosen = chosen_partitions(table)
    if chosen is not None:
        request = request.of(table.target()[0])
        others = () if request.predicate is None else (request.predicate,)
        request = replace(request, predicate=conjunction((chosen, *others)))
    plan, read = _plan_read(table, request)
    return of_bucket(table, plan), read


def _plan_read(table: TableHandle, request: ReadRequest) -> tuple[ScanPlan, SplitRead]:
    chain = chain_of(table)
    if chain is not None:
        return _plan_chain(table, chain, request)
    sides = branches_of(table)
    if sides is not None:
        return _plan_two(*sides, request)
    seen, target = _target(table)
    request = request.of(seen)
    plan, read = _plan_one(seen, target, request)
    if sees_waiting_rows(seen):
        plan = with_waiting(seen, target, plan, stored_predicate(request.predicate, seen.schema, seen.options))
        read = replace(read, schemas=plan.schemas)
    return plan, read


def plan_state(table: TableHandle, snapshot: Snapshot) -> tuple[ScanPlan, SplitRead]:
    """Plan a read of all rows of a snapshot under the table's newest schema, whatever the schema was then.

    It is for rows that are written again: blobs are read as descriptors.
    """
    table_options.check_readable(table.options, table.identifier)
    plan, read = _plan_one(table, FullState(snapshot), ReadRequest())
    return plan, replace(read, options=blobs_as_stored(read.model))


def _target(table: TableHandle) -> tuple[TableHandle, ScanTarget]:
    table_options.check_readable(table.options, table.identifier)
    return table.target()


def _plan_one(
    seen: TableHandle, target: ScanTarget, request: ReadRequest, left_out: frozenset[bytes] = frozenset()
) -> tuple[ScanPlan, SplitRead]:
    """Plan a target. `seen`: the table under the schema to read it with; `left_out`: partitions not to read."""
    source = replace(seen.scan_source(), left_out=left_out)
    predicate = stored_predicate(request.predicate, seen.schema, seen.options)
    with_ids = stored_predicate(request.predicate, seen.schema, seen.options, ROW_ID.name)
    plan = _splits(source, target, predicate, with_ids)
    tracked = seen.model.tracks_rows
    read = SplitRead(
        seen.file_io,
        seen.paths,
        seen.schema,
        plan.schemas,
        seen.options,
        (*request.system, *read_fields(request.columns, seen.schema, row_tracking=tracked)),
        request.predicate,
        keep_retractions=request.keep_retractions,
        views=views_of(seen),
    )
    return plan, read


def views_of(table: TableHandle) -> TableViews | None:
    """What looks up the table's references to blobs of others; None if it has none, or no catalog."""
    if table.siblings is None or not table.model.blob_view_field:
        return None
    return TableViews(table.siblings, _plan_rows)


def _plan_rows(table: TableHandle, columns: Sequence[str], rows: In) -> tuple[ScanPlan, SplitRead]:
    return plan_read(table, ReadRequest(columns, rows))


def _splits(
    source: ScanSource, target: ScanTarget, predicate: Predicate | None, with_ids: Predicate | None
) -> ScanPlan:
    match target:
        case RecordChanges():
            return plan_changes(source, target, predicate)
        case Difference():
            return plan_difference(source, target, predicate)
    return plan_scan(source, target.snapshot, predicate, target.files_since, with_ids)


def _plan_two(first: TableHandle, second: TableHandle, request: ReadRequest) -> tuple[ScanPlan, SplitRead]:
    """The first table's partitions, and those of the second that the first lacks."""
    # One snapshot of the first both gives its rows and says which partitions it has.
    seen, target = _target(first)
    request = request.of(seen)
    request = replace(request, columns=seen.schema.field_names if request.columns is None else request.columns)
    plan, read = _plan_one(seen, target, request)
    further, read_further = _plan_one(*_target(second), request, _partitions(seen, target, request.predicate))
    splits = [replace(split, fallback=True) for split in further.splits if isinstance(split, Split)]
    both = ScanPlan(
        (*plan.splits, *splits),
        plan.schemas,
        plan.live_files + further.live_files,
        plan.skipped_by_stats + further.skipped_by_stats,
        plan.skipped_by_index + further.skipped_by_index,
    )
    return both, replace(read, fallback=read_further)


def _plan_chain(
    table: TableHandle, chain: ChainBranches[TableHandle], request: ReadRequest
) -> tuple[ScanPlan, SplitRead]:
    """The table's own partitions, those of the snapshot branch, and those that the delta branch has besides."""
    if not isinstance(startup_of(table.options), Latest):
        raise UnsupportedError(
            "a chain table is read in its newest state alone", table.identifier, "Read a branch: table$branch_<name>."
        )
    seen, target = _target(table)
    request = request.of(seen)
    request = replace(request, columns=seen.schema.field_names if request.columns is None else request.columns)
    plan, read = _plan_one(seen, target, request)
    own = _partitions(seen, target, request.predicate)
    newest = FullState(chain.snapshot.latest_snapshot())
    complete, _ = _plan_one(chain.snapshot, newest, request, own)
    linked = list(chained_splits(chain, only_changed(chain, request.predicate) - own))
    whole = [
        replace(split, anchored=frozenset(file.file_name for file in split.files))
        for split in complete.splits
        if isinstance(split, Split)
    ]
    further = [replace(split, fallback=True) for split in (*whole, *linked)]
    files = plan.live_files + complete.live_files + sum(split.file_count for split in linked)
    both = replace(plan, splits=(*plan.splits, *further), live_files=files)
    return both, replace(read, fallback=read_of_chain(chain, (*whole, *linked), request))


def read_of_chain(chain: ChainBranches[TableHandle], splits: Sequence[Split], request: ReadRequest) -> SplitRead:
    """How to read splits of both branches of a chain table: as the delta branch merges, each file by its own schema."""
    _, read = _plan_one(chain.delta, FullState(None), request)
    ids: tuple[set[int], set[int]] = set(), set()
    for split in splits:
        for file in split.files:
            ids[file.file_name in split.anchored].add(file.schema_id)
    changes, anchors = (
        table.scan_source().load_schemas(sorted(needed | {table.schema.id}))
        for table, needed in zip((chain.delta, chain.snapshot), ids, strict=True)
    )
    return replace(read, schemas=changes, anchor_schemas=anchors)


def _partitions(seen: TableHandle, target: ScanTarget, predicate: Predicate | None) -> frozenset[bytes]:
    """The partitions that a read of the target sees, as far as the filter's conditions on their columns let it."""
    if not isinstance(target, FullState):
        raise UnsupportedError(
            "incremental reads of a table with a fallback or primary branch are not supported",
            seen.identifier,
            "Read the branches one by one, as table$branch_<name>.",
        )
    if target.snapshot is None:
        return frozenset()
    over = None if predicate is None else restrict(predicate, seen.schema.partition_keys)
    entries = live_entries(seen.scan_source(), target.snapshot, over)
    return frozenset(entry.partition for entry in since(entries, target.files_since))
