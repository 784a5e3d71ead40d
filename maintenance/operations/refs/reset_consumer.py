"""Move a streaming reader to another snapshot, or remove it: procedure `reset_consumer`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from maintenance.errors import CorruptFileError, NotFoundError
from maintenance.operations.operation import Operation, Plan, Run
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class ResetConsumer:
    """Which consumer, and where it goes on."""

    consumer: Annotated[str, Param("The id of the consumer.", name="consumer_id", others=("consumerId",))]
    next_snapshot_id: Annotated[
        int | None,
        Param(
            "The snapshot that it reads next; empty: delete the consumer, so that it protects no snapshot.",
            others=("nextSnapshotId",),
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class ResetConsumerReport:
    """`before`: the snapshot that it would have read next, None for a new one; `after`: what it reads now."""

    table: str
    consumer: str
    before: int | None
    after: int | None


def plan(_: Run, table: Table, request: ResetConsumer) -> Plan[ResetConsumer, ResetConsumerReport]:
    """Checks that the consumer can go there."""
    consumer, next_snapshot = request.consumer, request.next_snapshot_id
    before, is_known = _stood(table, consumer), consumer in table.consumers.names()
    _check(table, request, is_known=is_known)

    def groups() -> Iterator[PlannedGroup]:
        now = position(table, consumer) if is_known else "is new"
        then = "is deleted" if next_snapshot is None else f"reads snapshot {next_snapshot} next then"
        yield PlannedGroup(f"consumer {consumer}", (), 0, int(next_snapshot is not None), f"{now}; {then}")

    return Plan(request, ResetConsumerReport(table.identifier, consumer, before, next_snapshot), groups)


def _check(table: Table, request: ResetConsumer, *, is_known: bool) -> None:
    if request.next_snapshot_id is None:
        if not is_known:
            raise NotFoundError(
                f"consumer '{request.consumer}' does not exist",
                table.identifier,
                f"There are: {', '.join(table.consumers.names()) or 'none'}.",
            )
        return
    earliest, latest = table.snapshots.earliest_id() or 1, table.snapshots.latest_id() or 0
    is_changelog = request.next_snapshot_id in table.changelogs.list_ids()
    if not is_changelog and not earliest <= request.next_snapshot_id <= latest + 1:
        raise NotFoundError(
            f"snapshot {request.next_snapshot_id} does not exist",
            table.identifier,
            f"Use {earliest} to {latest + 1}.",
        )


def apply(_: Run, table: Table, planned: Plan[ResetConsumer, ResetConsumerReport]) -> ResetConsumerReport:
    """Move the consumer, or end it."""
    report = planned.report
    if report.after is None:
        table.consumers.remove([report.consumer])
    else:
        table.consumers.record(report.consumer, report.after)
    return report


def _said(report: ResetConsumerReport) -> Iterator[str]:
    then = "is deleted" if report.after is None else f"reads snapshot {report.after} next"
    before = "was new" if report.before is None else f"was at snapshot {report.before}"
    yield f"{report.table}: consumer '{report.consumer}' {before}; now it {then}."


OPERATION = Operation(
    "reset_consumer", "Set the snapshot that a consumer reads next.", ResetConsumer, plan, apply, said=_said
)


def position(table: Table, consumer: str) -> str:
    """Where a consumer stands, in words."""
    try:
        return f"reads snapshot {table.consumers.find(consumer)} next"
    except CorruptFileError:
        return "its file is damaged"


def _stood(table: Table, consumer: str) -> int | None:
    try:
        return table.consumers.find(consumer)
    except CorruptFileError:
        # A reset is how a damaged file is mended.
        return None


def reset_consumer(
    table: Table, consumer: str, next_snapshot: int | None = None, *, dry_run: bool = False
) -> int | None:
    """Set the snapshot that a consumer reads next.

    Args: `next_snapshot`: one that is there, or the one after the latest; None = the consumer ends, and holds no
        snapshot back any more. `dry_run`: only check that it can be done.
    Returns: where it stood, None for a new one.
    Raises: NotFoundError: there is no such snapshot, or no consumer to end; OptionError: the name cannot be that of a
        file.
    Source: data section 10.1, Java `ResetConsumerProcedure`.
    """
    return OPERATION.run(Run(), table, ResetConsumer(consumer, next_snapshot), dry_run=dry_run).before
