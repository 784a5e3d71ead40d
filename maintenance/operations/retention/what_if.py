"""What other retention would delete: `what_if`. Reads metadata alone and changes nothing.

The answer is the plan of the expiry itself, made for other options, without some tags or consumers, and at later
moments. Bytes are those that `expire_tags` and then `expire_snapshots` would delete at that moment if nothing were
written until then.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import pyarrow as pa

from maintenance.amounts import number_of, size_text
from maintenance.errors import NotFoundError
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown, as_asked
from maintenance.operations.parameters import Param
from maintenance.operations.retention.next_expiry import Expiries, with_expiries
from maintenance.table.table import Table

DEFAULT_AHEAD = (timedelta(0), timedelta(days=1), timedelta(days=7), timedelta(days=30))


@dataclass(frozen=True, slots=True)
class Policy:
    """Retention to try.

    Attributes:
        options: in place of the table's, such as `snapshot.time-retained`; empty = as they are.
        without_tags, without_consumers: names of those that are taken to be gone.
    """

    options: Mapping[str, str]
    without_tags: tuple[str, ...] = ()
    without_consumers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Loss:
    """What would be gone by a moment.

    Attributes:
        moment: when; the first is now.
        snapshots: ids; `tags`: names.
        files, bytes: that would be deleted.
        lost_from, lost_to: time travel to moments in between would end with an error; None = to no moment that can be
            read now. A tag may still hold single states of that time.
        kept_tags: tags that still hold a state whose snapshot is gone.
    """

    moment: datetime
    snapshots: tuple[int, ...]
    tags: tuple[str, ...]
    files: int
    bytes: int
    lost_from: datetime | None = None
    lost_to: datetime | None = None
    kept_tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WhatIfReport(OperationReport):
    """`losses`: at once, then all until each later moment; `paths`: of the files that would go at once."""

    table: str
    losses: tuple[Loss, ...]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The retention to try. `ahead`: how far from now to look."""

    options: Annotated[
        Mapping[str, str] | None, Param("Options in place of the table's, e.g. snapshot.time-retained=1 d.")
    ] = None
    without_tags: Annotated[Collection[str], Param("Answer as if these tags were deleted.")] = ()
    without_consumers: Annotated[Collection[str], Param("Answer as if these consumers were deleted.")] = ()
    ahead: Sequence[timedelta] = DEFAULT_AHEAD


def apply(run: Run, table: Table, planned: Plan[WhatIf, None]) -> WhatIfReport:
    """Try it."""
    asked = planned.request
    policy = Policy(dict(asked.options or {}), tuple(asked.without_tags), tuple(asked.without_consumers))
    tried = table.copy(policy.options)
    _check_names(tried, policy)
    moment = run.moment
    plans = with_expiries(tried, lambda them: [_loss(them, policy, moment + time) for time in asked.ahead])
    paths = tuple(plans[0][1]) if plans else ()
    return WhatIfReport(tried.identifier, tuple(loss for loss, _ in plans), paths)


def _shown(report: WhatIfReport) -> Shown:
    losses = report.losses
    texts = {
        "tags": [", ".join(loss.tags) for loss in losses],
        "lost_from": [_text(loss.lost_from) for loss in losses],
        "lost_to": [_text(loss.lost_to) for loss in losses],
        "kept_tags": [", ".join(loss.kept_tags) for loss in losses],
    }
    columns = {
        "moment": [_text(loss.moment) for loss in losses],
        "snapshots": [len(loss.snapshots) for loss in losses],
        "tags": pa.array(texts["tags"], pa.string()),
        "files": [loss.files for loss in losses],
        "bytes": [loss.bytes for loss in losses],
        **{name: pa.array(texts[name], pa.string()) for name in ("lost_from", "lost_to", "kept_tags")},
    }
    return Shown(pa.table(columns))


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")


def _said(report: WhatIfReport) -> Iterator[str]:
    for loss in report.losses:
        held = f"{number_of(len(loss.snapshots), 'snapshot')}, {number_of(len(loss.tags), 'tag')}"
        gone = f"{held} and {number_of(loss.files, 'file')}"
        yield f"By {loss.moment:%Y-%m-%d %H:%M} UTC: {gone} would go, {size_text(loss.bytes)}."


OPERATION = Operation(
    "what_if",
    "Show what another retention would delete, now and later.",
    WhatIf,
    as_asked,
    apply,
    _shown,
    looks_only=True,
    said=_said,
)


def _check_names(table: Table, policy: Policy) -> None:
    for name in policy.without_tags:
        table.tags.get(name)
    consumers = table.consumers.names()
    for name in policy.without_consumers:
        if name not in consumers:
            there = ", ".join(consumers) or "none"
            raise NotFoundError(f"consumer '{name}' does not exist", table.identifier, f"There are: {there}.")


def _loss(expiries: Expiries, policy: Policy, now: datetime) -> tuple[Loss, Mapping[str, int]]:
    """What goes until a moment, and the bytes of each file."""
    found = expiries.at(now, without_tags=policy.without_tags, without_consumers=policy.without_consumers)
    chosen, snapshots = found.range, found.snapshots
    lost = [snapshots[i] for i in chosen.expired if i in snapshots]
    first = snapshots.get(chosen.kept[0]) if chosen.kept else None
    gone = {snapshot.id for snapshot in lost}
    loss = Loss(
        now,
        tuple(chosen.expired),
        tuple(found.tags),
        len(found.freed),
        found.bytes,
        lost[0].committed_at.astimezone() if lost else None,
        None if not lost or first is None else first.committed_at.astimezone(),
        tuple(name for name, tag in found.all_tags.items() if name not in found.tags and tag.snapshot.id in gone),
    )
    return loss, found.freed


what_if = OPERATION.function(
    """Show what a table or branch would lose with another retention.

    Args:
        options: in place of the table's own.
        without_tags, without_consumers: as if they were deleted first.
        ahead: the times from now to look at, in ascending order.
    Raises: NotFoundError: no such tag or consumer; OptionError; CorruptFileError: as `expire_snapshots`.
    """,
    takes=("now",),
    by_position=("options",),
)
