"""The snapshots of a table in their order: a lane for each writer, tags above, consumers below, and where the next
expiry cuts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.operations.expiry.kept_snapshots import DUE, KeptSnapshots
from paimon_maintenance.assets.units import millis_text

LEFT, TOP, LANE = 10.0, 30.0, 22.0
_STEP, _LEAST_WIDTH = 22.0, 420.0
COLOURS = 6
SHAPES = {CommitKind.COMPACT: "square", CommitKind.APPEND: "circle"}
"""Of commits in pictures; anything else is a ``diamond``."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A snapshot. `shape`: of `SHAPES`; `is_in_conflict`: a check over writers names it."""

    x: float
    y: float
    shape: str
    colour: int
    is_due: bool
    text: str
    is_in_conflict: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """A writer, with how many of the snapshots are its."""

    writer: str
    y: float
    colour: int
    snapshots: int


@dataclass(frozen=True, slots=True)
class Flag:
    """A tag, or a consumer, at a snapshot."""

    x: float
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The picture.

    Attributes:
        cut: where the next expiry cuts; None: it takes nothing.
        gone: tags whose snapshot has expired: they have no place here.
        hidden: snapshots between those that are drawn.
    """

    marks: Sequence[Mark]
    lanes: Sequence[Lane]
    tags: Sequence[Flag]
    consumers: Sequence[Flag]
    cut: float | None
    due: int
    gone: Sequence[str]
    hidden: int
    width: float
    height: float

    @classmethod
    def of(
        cls,
        kept: KeptSnapshots,
        writers: Mapping[int, str],
        tags: Mapping[str, int],
        consumers: Mapping[str, int],
    ) -> Self | None:
        """The picture of the listed snapshots.

        Args: `writers`: who made each; `tags`: the snapshot that each holds; `consumers`: which each reads next. None:
            there are no snapshots.
        """
        if not kept.listed:
            return None
        oldest_first = sorted(kept.listed, key=lambda one: one.snapshot.id)
        x_of = {one.snapshot.id: LEFT + 8 + number * _STEP for number, one in enumerate(oldest_first)}
        names = list(dict.fromkeys(writers[one.snapshot.id] for one in oldest_first))
        lanes = [
            Lane(
                name,
                TOP + number * LANE + LANE / 2,
                number % COLOURS,
                sum(writers[one.snapshot.id] == name for one in oldest_first),
            )
            for number, name in enumerate(names)
        ]
        lane_of = {lane.writer: lane for lane in lanes}
        marks, cut = [], None
        for one in oldest_first:
            lane, x = lane_of[writers[one.snapshot.id]], x_of[one.snapshot.id]
            is_due = one.kept_by == DUE
            cut = x + _STEP / 2 if is_due else cut
            shape = SHAPES.get(one.snapshot.commit_kind, "diamond")
            marks.append(Mark(x, lane.y, shape, lane.colour, is_due, _text(one.snapshot, lane.writer, one.kept_by)))
        last = oldest_first[-1].snapshot.id
        return cls(
            marks,
            lanes,
            [Flag(x_of[at], name, f"tag {name} at snapshot {at}") for name, at in tags.items() if at in x_of],
            [_consumer(name, at, x_of, last) for name, at in consumers.items() if at in x_of or at > last],
            cut,
            kept.due,
            [name for name, _ in kept.tagged],
            kept.count - len(oldest_first),
            max(_LEAST_WIDTH, LEFT + 16 + len(marks) * _STEP),
            TOP + len(lanes) * LANE + 26,
        )


def _consumer(name: str, at: int, x_of: Mapping[int, float], last: int) -> Flag:
    if at > last:
        return Flag(x_of[last] + _STEP / 2, name, f"consumer {name} has read everything")
    return Flag(x_of[at], name, f"consumer {name} has yet to read snapshot {at}")


def _text(snapshot: Snapshot, writer: str, kept_by: str) -> str:
    rows = "" if snapshot.delta_record_count is None else f", {snapshot.delta_record_count:+,} rows"
    when = millis_text(snapshot.time_millis)
    return f"snapshot {snapshot.id}, {snapshot.commit_kind} by {writer}, {when}{rows}; kept by {kept_by}"
