"""Which snapshot a batch read uses. Source: seed 000, data section 6.5, Java `TimeTravelUtil`."""

import datetime as dt
from collections.abc import Callable, Mapping

from maintenance.errors import NotFoundError, OptionError, UnsupportedError
from maintenance.format.snapshot import Snapshot
from maintenance.metadata.snapshots import Snapshots
from maintenance.metadata.tags import Tags
from maintenance.options import table as table_options

Travel = Callable[[str, Snapshots, Tags], Snapshot]


def _by_id(text: str, snapshots: Snapshots, tags: Tags) -> Snapshot:
    snapshot_id = table_options.SCAN_SNAPSHOT_ID.of({"scan.snapshot-id": text})
    return snapshots.get(snapshot_id or 0)


def _by_tag(text: str, snapshots: Snapshots, tags: Tags) -> Snapshot:
    return tags.get(text).snapshot


def _by_millis(text: str, snapshots: Snapshots, tags: Tags) -> Snapshot:
    try:
        return at_or_before(int(text), snapshots)
    except ValueError as error:
        raise OptionError(
            f"'scan.timestamp-millis' = '{text}'", "options", "Give milliseconds since 1970-01-01 UTC."
        ) from error


def _by_timestamp(text: str, snapshots: Snapshots, tags: Tags) -> Snapshot:
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise OptionError(
            f"'scan.timestamp' = '{text}'", "options", "Write it as 2024-05-14 10:20:30, in local time."
        ) from error
    return at_or_before(int(moment.timestamp() * 1000), snapshots)


_TRAVELS: Mapping[str, Travel] = {
    table_options.SCAN_SNAPSHOT_ID.key: _by_id,
    table_options.SCAN_TAG_NAME.key: _by_tag,
    "scan.timestamp-millis": _by_millis,
    "scan.timestamp": _by_timestamp,
}
_HARMLESS = frozenset(
    {
        "scan.manifest.parallelism", "scan.parallelism", "scan.infer-parallelism", "scan.plan-sort-partition",
        "scan.max-splits-per-task",
    }
)  # fmt: skip
_HARMLESS_IF_FALSE = frozenset(
    {"scan.ignore-corrupt-files", "scan.ignore-lost-files", "scan.fallback-branch.read-fail-fast"}
)
_LATEST_MODES = frozenset({"default", "latest-full", "full", "latest"})


def travelled_snapshot(options: Mapping[str, str], snapshots: Snapshots, tags: Tags) -> Snapshot | None:
    """The snapshot that the scan options name, None if they name none and the latest is meant.

    Raises: OptionError: several name one; NotFoundError: it does not exist; UnsupportedError: another scan option.
    """
    _refuse_others(options)
    named = [key for key in _TRAVELS if key in options]
    if len(named) > 1:
        raise OptionError(f"{' and '.join(named)} are both set", "options", "Set only one of them.")
    return _TRAVELS[named[0]](options[named[0]], snapshots, tags) if named else None


def _refuse_others(options: Mapping[str, str]) -> None:
    for key, value in options.items():
        if key == "scan.mode" and value.strip().lower() in (*_LATEST_MODES, "from-snapshot-full"):
            continue
        if key in _TRAVELS or key in _HARMLESS or (key in _HARMLESS_IF_FALSE and value.strip().lower() == "false"):
            continue
        if key.startswith(("scan.", "log.scan", "incremental-")):
            raise UnsupportedError(
                f"option '{key}' = '{value}' is not supported yet", "options", f"Use one of {', '.join(_TRAVELS)}."
            )


def at_or_before(millis: int, snapshots: Snapshots) -> Snapshot:
    """The last snapshot committed at that time or before. Raises: NotFoundError: all are later, or there is none."""
    low, high = snapshots.earliest_id(), snapshots.latest_id()
    if low is None or high is None or snapshots.get(low).time_millis > millis:
        raise NotFoundError(
            f"there is no snapshot at or before {millis}", snapshots.paths.snapshot_folder(), "Use a later time."
        )
    while low < high:
        middle = (low + high + 1) // 2
        if snapshots.get(middle).time_millis <= millis:
            low = middle
        else:
            high = middle - 1
    return snapshots.get(low)
