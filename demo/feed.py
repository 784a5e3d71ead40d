"""Cuts a stream into micro-batches and delivers them to a landing folder, as a change data capture job would.

A delivery is one Parquet file; its name says its place in the order and the batch it holds:
``00013-batch-00012.parquet`` is the 13th delivery and carries batch 12. Batch numbers grow with the deliveries and
serve as commit identifiers. The feed is as untidy as real ones, yet the same every time:

- late: some events of a batch are held back and come two deliveries later, as a batch of their own. They come before
  the round ends: once a full compaction has dropped a deleted key, no table could tell that an older event is stale;
- repeated: some batches are delivered twice, as after a lost acknowledgement. The second must not be committed.

A round is what has come since the table's job last ran.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

LATE_SHARE = 0.02
LATE_EVERY = 4
REPEAT_EVERY = 6


@dataclass(frozen=True, slots=True)
class Round:
    """The events up to `until` (exclusive) that no earlier round held, cut into `batches` of about the same size."""

    until: datetime
    batches: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """One file of the feed. `batch`: its commit identifier, from 1; a repeated delivery has that of an earlier one."""

    order: int
    batch: int
    rows: pa.Table

    @property
    def file_name(self) -> str:
        return f"{self.order:05d}-batch-{self.batch:05d}.parquet"


# Eight in the morning and two in the afternoon of 11 July, New York's busiest day that summer: one of its flights to
# Honolulu is scheduled in the first round, departed in the second and arrived in the third.
FLIGHT_ROUNDS = (
    Round(datetime(2013, 7, 11, 12, tzinfo=UTC), batches=16),
    Round(datetime(2013, 7, 11, 18, tzinfo=UTC), batches=4),
    Round(datetime(2013, 10, 1, 4, tzinfo=UTC), batches=8),
    Round(datetime(2014, 1, 3, tzinfo=UTC), batches=8),
)
WEATHER_ROUNDS = (
    Round(datetime(2013, 7, 11, 12, tzinfo=UTC), batches=4),
    Round(datetime(2013, 7, 11, 18, tzinfo=UTC), batches=2),
    Round(datetime(2013, 10, 1, 4, tzinfo=UTC), batches=3),
    Round(datetime(2014, 1, 3, tzinfo=UTC), batches=3),
)


def deliveries(stream: pa.Table, time_column: str, rounds: Sequence[Round]) -> list[list[Delivery]]:
    """The deliveries of each round; `stream` is ordered by `time_column`."""
    times = stream[time_column].cast(pa.int64()).to_numpy()
    ends = [int(np.searchsorted(times, round(cut.until.timestamp() * 1000))) for cut in rounds]
    result: list[list[Delivery]] = []
    order = batch = 0
    for cut, start, end in zip(rounds, [0, *ends], ends, strict=False):
        numbered = list(enumerate(_with_late_batches(_cut(stream.slice(start, end - start), cut.batches)), batch + 1))
        batch += len(numbered)
        repeated = list(_with_repeats(numbered))
        result.append([Delivery(order + place, number, rows) for place, (number, rows) in enumerate(repeated, 1)])
        order += len(repeated)
    return result


def _cut(stream: pa.Table, batches: int) -> list[pa.Table]:
    edges = np.linspace(0, stream.num_rows, batches + 1).astype(int)
    return [stream.slice(start, end - start) for start, end in zip(edges, edges[1:], strict=False)]


def _with_late_batches(batches: Sequence[pa.Table]) -> Iterator[pa.Table]:
    """Hold back some rows of every LATE_EVERY-th batch until after the next one, or until the round ends."""
    late: pa.Table | None = None
    for place, rows in enumerate(batches, 1):
        held_back, late = late, None
        if place % LATE_EVERY == 0:
            choice = np.random.default_rng(place).random(rows.num_rows) < LATE_SHARE
            late, rows = rows.filter(pa.array(choice)), rows.filter(pc.invert(pa.array(choice)))
        yield rows
        if held_back is not None:
            yield held_back
    if late is not None:
        yield late


def _with_repeats(batches: Sequence[tuple[int, pa.Table]]) -> Iterator[tuple[int, pa.Table]]:
    """Deliver every REPEAT_EVERY-th batch, and a round's first, again: the former at once, the latter at the end."""
    for place, batch in enumerate(batches):
        yield batch
        if place % REPEAT_EVERY == REPEAT_EVERY - 1:
            yield batch
    yield batches[0]


def deliver(deliveries: Sequence[Delivery], landing: Path) -> None:
    """Write the files of one round into the folder `landing`; each appears there only when it is whole."""
    landing.mkdir(parents=True, exist_ok=True)
    for delivery in deliveries:
        unfinished = landing / f".{delivery.file_name}"
        pq.write_table(delivery.rows, unfinished, compression="zstd")
        unfinished.replace(landing / delivery.file_name)
