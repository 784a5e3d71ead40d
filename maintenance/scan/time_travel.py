"""Turn the options of a read (`Startup`) into the snapshots that it reads (`ScanTarget`).

Decides and reads no data. Source: seed 000, data section 6.5, Java `TimeTravelUtil`, `AbstractDataTableScan`.
"""

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.scan.history import History
from maintenance.scan.incremental import between, between_times, to_auto_tag
from maintenance.scan.startup import (
    AtSnapshot,
    AtTag,
    AtTime,
    AtVersion,
    AtWatermark,
    Between,
    BetweenTimes,
    CommittedSince,
    Compacted,
    FilesSince,
    Latest,
    Startup,
    ToAutoTag,
)
from maintenance.scan.target import FullState, ScanTarget


def scan_target(history: History, startup: Startup) -> ScanTarget:
    """What to read. Raises: NotFoundError: a snapshot or tag does not exist; OptionError: bounds that are wrong."""
    match startup:
        case Latest():
            return FullState(history.latest())
        case Compacted(delta_commits):
            return FullState(history.compacted(delta_commits))
        case FilesSince(millis):
            return FullState(history.latest(), files_since=millis)
        case CommittedSince(millis):
            return _committed_since(history, millis)
        case Between():
            return between(history, startup)
        case BetweenTimes():
            return between_times(history, startup)
        case ToAutoTag(name):
            return to_auto_tag(history, name)
    return FullState(named_snapshot(history, startup), travelled=True)


def named_snapshot(history: History, startup: AtSnapshot | AtTag | AtVersion | AtTime | AtWatermark) -> Snapshot:
    """The snapshot of a state that is named. Raises: NotFoundError."""
    match startup:
        case AtSnapshot(snapshot_id):
            return history.get(snapshot_id)
        case AtTag(name):
            return history.tag(name).snapshot
        case AtVersion(version):
            return history.version(version)
        case AtTime(millis):
            return history.at_time(millis)
    return history.at_watermark(startup.watermark)


def _committed_since(history: History, millis: int) -> FullState:
    before = history.at_or_before(millis - 1)
    following = None if before is None else history.snapshots.find(before.id + 1)
    if following is None:
        return FullState(history.latest(), files_since=millis)
    return FullState(following)
