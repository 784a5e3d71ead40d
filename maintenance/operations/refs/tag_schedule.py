"""When a table gets automatic tags, and which names they have, by the table's own options.

The time of a snapshot is its commit time or its watermark. The first snapshot after the end of a period, plus a delay,
becomes the tag of that period. Source: Java `TagAutoCreation`, `TagTimeExtractor`, `TagPeriodHandler`.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from maintenance.errors import OptionError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.scan.auto_tag import AutoTagNames

_NO_WATERMARK = -(2**63)
_EPOCH = dt.datetime(1970, 1, 1)
_BATCH_PREFIX = "batch-write-"


@dataclass(frozen=True, slots=True)
class TagSchedule:
    """The rules for automatic tags.

    Attributes:
        zone: in which times are read; None = the local one.
        by_watermark: the time of a snapshot is its watermark, else when it was committed.
        delay: how long after its end a period is still open.
        completes: a period without a tag of its own gets one from a later snapshot, one period for each snapshot.
    """

    names: AutoTagNames
    by_watermark: bool
    zone: dt.tzinfo | None
    delay: dt.timedelta
    completes: bool

    @classmethod
    def of(cls, options: TableModel, table: str) -> "TagSchedule | None":
        """The schedule of a table; None if its tags do not follow the clock. Raises: OptionError: delay >= period."""
        mode = options.tag_automatic_creation
        if mode not in ("process-time", "watermark"):
            return None
        names, delay = AutoTagNames.of(options), table_options.TAG_CREATION_DELAY.of(options)
        if delay >= names.period:
            problem = f"'tag.creation-delay' is {delay}, and the period of a tag {names.period}"
            raise OptionError(problem, table, "Choose a delay shorter than the period.")
        zone = table_options.SINK_WATERMARK_TIME_ZONE if mode == "watermark" else table_options.SINK_PROCESS_TIME_ZONE
        completes = table_options.TAG_AUTOMATIC_COMPLETION.of(options)
        return cls(names, mode == "watermark", zone.of(options), delay, completes)

    def due(self, snapshot: Snapshot, upcoming: dt.datetime | None) -> dt.datetime | None:
        """The period whose tag this snapshot becomes, None for none. `upcoming`: the first without one; None = any."""
        time = self._time_of(snapshot)
        if time is None:
            return None
        if upcoming is not None and time - self.delay < upcoming + self.names.period:
            return None
        if self.completes and upcoming is not None:
            return upcoming
        return _EPOCH + (time - _EPOCH) // self.names.period * self.names.period - self.names.period

    def tags(self, snapshots: Iterable[Snapshot], last: str | None) -> Iterator[tuple[str, Snapshot]]:
        """The tags to create, in order. `snapshots`: ascending, after the one of tag `last`."""
        time = None if last is None else self.names.time_of(last)
        upcoming = None if time is None else time + self.names.period
        for snapshot in snapshots:
            period = self.due(snapshot, upcoming)
            if period is not None:
                yield self.names.name_of(period), snapshot
                upcoming = period + self.names.period

    def last(self, tags: Iterable[str]) -> str | None:
        """The newest automatic tag among names."""
        times = {name: self.names.time_of(name) for name in tags}
        return max((name for name, time in times.items() if time), key=lambda name: times[name] or _EPOCH, default=None)

    def _time_of(self, snapshot: Snapshot) -> dt.datetime | None:
        millis = snapshot.watermark if self.by_watermark else snapshot.time_millis
        if millis is None or millis == _NO_WATERMARK:
            return None
        return dt.datetime.fromtimestamp(millis / 1000, self.zone).replace(tzinfo=None)


def batch_tag(options: TableModel, snapshot: Snapshot) -> str:
    """The name of the tag of a batch job's commit. Source: Java `TagBatchCreation`."""
    chosen = table_options.TAG_BATCH_CUSTOMIZED_NAME.of(options)
    zone = table_options.SINK_PROCESS_TIME_ZONE.of(options)
    day = snapshot.committed_at.astimezone(zone)
    return chosen or f"{_BATCH_PREFIX}{day:%Y-%m-%d}"
