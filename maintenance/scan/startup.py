"""What the options of a batch read ask for, before any snapshot is looked at.

`scan.mode` and the key that goes with it become one `Startup`. Every mode has its keys. A key of another mode is
refused, and so are two keys of which one would win. Java refuses these, too; it ignores a few more combinations (such
as `scan.watermark` with `scan.timestamp`), which are refused here.
Source: data sections 6.5 and 6.6, Java `CoreOptions.startupMode`, `SchemaValidation.validateStartupMode`.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from maintenance.errors import OptionError, UnsupportedError
from maintenance.options import table as table_options
from maintenance.options.known import in_new_spelling, state_of
from maintenance.options.model import TableModel
from maintenance.options.option import Option
from maintenance.options.state import READS, refusal_of


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest snapshot."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """The newest snapshot of a compaction, else the newest.

    Attributes:
        delta_commits: only commits whose identifier it divides, and those of batch jobs, count; None = any.
    """

    delta_commits: int | None


@dataclass(frozen=True, slots=True)
class AtSnapshot:
    """The snapshot of that id."""

    snapshot_id: int


@dataclass(frozen=True, slots=True)
class AtTag:
    """The snapshot that a tag holds."""

    name: str


@dataclass(frozen=True, slots=True)
class AtVersion:
    """A tag's name, else ``watermark-<n>``, else the id of a snapshot."""

    version: str


@dataclass(frozen=True, slots=True)
class AtTime:
    """The last snapshot at or before a moment, milliseconds since 1970-01-01 UTC."""

    millis: int


@dataclass(frozen=True, slots=True)
class AtWatermark:
    """The first snapshot whose watermark is at least this."""

    watermark: int


@dataclass(frozen=True, slots=True)
class FilesSince:
    """The newest snapshot, of its files only those made at that moment or later, milliseconds since 1970-01-01 UTC."""

    millis: int


@dataclass(frozen=True, slots=True)
class CommittedSince:
    """The first snapshot at or after a moment if an earlier one is still there, else as `FilesSince`."""

    millis: int


@dataclass(frozen=True, slots=True)
class Between:
    """What changed after `start` up to `end`: two tags, or two ids of snapshots.

    Attributes:
        mode: ``delta``, ``changelog`` or ``diff``; two tags are always compared, unless `tags_are_snapshots`.
    """

    start: str
    end: str
    mode: str
    tags_are_snapshots: bool = False


@dataclass(frozen=True, slots=True)
class BetweenTimes:
    """What was committed after `start` up to `end`, milliseconds since 1970-01-01 UTC. `mode`: as of `Between`."""

    start: int
    end: int
    mode: str


@dataclass(frozen=True, slots=True)
class ToAutoTag:
    """The difference between an automatic tag and the one before it."""

    tag: str


Startup = (
    Latest
    | Compacted
    | AtSnapshot
    | AtTag
    | AtVersion
    | AtTime
    | AtWatermark
    | FilesSince
    | CommittedSince
    | Between
    | BetweenTimes
    | ToAutoTag
)


T = TypeVar("T")
_Read = Callable[[TableModel], Startup]


def _key(option: Option[T | None], build: Callable[[T, TableModel], Startup]) -> tuple[str, _Read]:
    """A key and how it is read, once it is set."""

    def read(options: TableModel) -> Startup:
        value = option.of(options)
        assert value is not None
        return build(value, options)

    return option.key, read


def _between(text: str, options: TableModel) -> Startup:
    start, end = _pair(text, table_options.INCREMENTAL_BETWEEN.key, "5,10")
    by_id = table_options.INCREMENTAL_BETWEEN_TAG_TO_SNAPSHOT.of(options)
    return Between(start, end, _incremental_mode(options), by_id)


def _between_times(text: str, options: TableModel) -> Startup:
    key = table_options.INCREMENTAL_BETWEEN_TIMESTAMP.key
    texts = _pair(text, key, "1715680000000,1715690000000")
    numeric = all(part.strip().lstrip("-").isdecimal() for part in texts)
    start, end = (int(part) if numeric else _moment(part, key) for part in texts)
    if end < start:
        raise OptionError(
            f"'{key}' = '{text}' ends before it starts", "options", f"Name the earlier time first in '{key}'."
        )
    return BetweenTimes(start, end, _incremental_mode(options))


_BY_TIME: Mapping[str, _Read] = dict(
    [
        _key(table_options.SCAN_TIMESTAMP_MILLIS, lambda millis, _: AtTime(millis)),
        _key(table_options.SCAN_TIMESTAMP, lambda text, _: AtTime(_moment(text, "scan.timestamp"))),
    ]
)
_BY_ID: Mapping[str, _Read] = dict([_key(table_options.SCAN_SNAPSHOT_ID, lambda number, _: AtSnapshot(number))])
_BY_SNAPSHOT: Mapping[str, _Read] = {
    **_BY_ID,
    **dict(
        [
            _key(table_options.SCAN_TAG_NAME, lambda name, _: AtTag(name)),
            _key(table_options.SCAN_WATERMARK, lambda watermark, _: AtWatermark(watermark)),
            _key(table_options.SCAN_VERSION, lambda version, _: AtVersion(version)),
        ]
    ),
}
_BY_FILE: Mapping[str, _Read] = dict(
    [_key(table_options.SCAN_FILE_CREATION_TIME_MILLIS, lambda millis, _: FilesSince(millis))]
)
_BY_CREATION: Mapping[str, _Read] = dict(
    [_key(table_options.SCAN_CREATION_TIME_MILLIS, lambda millis, _: CommittedSince(millis))]
)
_INCREMENTAL: Mapping[str, _Read] = dict(
    [
        _key(table_options.INCREMENTAL_BETWEEN, _between),
        _key(table_options.INCREMENTAL_BETWEEN_TIMESTAMP, _between_times),
        _key(table_options.INCREMENTAL_TO_AUTO_TAG, lambda tag, _: ToAutoTag(tag)),
    ]
)
# The keys of which a mode needs exactly one; those not here take none.
_KEYS_OF_MODE: Mapping[str, Mapping[str, _Read]] = {
    "from-timestamp": _BY_TIME,
    "from-snapshot": _BY_SNAPSHOT,
    "from-snapshot-full": _BY_ID,
    "from-file-creation-time": _BY_FILE,
    "from-creation-timestamp": _BY_CREATION,
    "incremental": _INCREMENTAL,
}
_KEYS: Mapping[str, _Read] = {key: read for keys in _KEYS_OF_MODE.values() for key, read in keys.items()}


def startup_of(options: TableModel) -> Startup:
    """What a batch read with these options reads.

    Raises: OptionError: keys contradict each other or `scan.mode`, or a value cannot be read; UnsupportedError: an
        option that reads do not honour.
    """
    _refuse_others(options)
    return checked_startup(options)


def checked_startup(options: TableModel) -> Startup:
    """The same, passing over options that only reads refuse: what a table's own options must make sense for."""
    options = TableModel.of(in_new_spelling(options))
    mode = options.scan_mode
    set_keys = [key for key in _KEYS if key in options]
    if mode == "default" and not set_keys:
        return Latest()
    allowed = _KEYS if mode == "default" else _KEYS_OF_MODE.get(mode, {})
    wrong = [key for key in set_keys if key not in allowed]
    if wrong:
        fix = f"Unset '{wrong[0]}', or set 'scan.mode' to the mode that it belongs to."
        raise OptionError(f"'{wrong[0]}' is set and 'scan.mode' is '{mode}'", "options", fix)
    if len(set_keys) > 1:
        raise OptionError(f"{' and '.join(set_keys)} are both set", "options", "Set only one of them.")
    if set_keys:
        return allowed[set_keys[0]](options)
    if allowed:
        raise OptionError(
            f"'scan.mode' = '{mode}' needs another option", "options", f"Set one of {', '.join(allowed)}."
        )
    return _compacted(options) if mode == "compacted-full" else Latest()


def _compacted(options: TableModel) -> Compacted:
    commits = options.full_compaction_delta_commits
    if commits is None and options.changelog_producer == "full-compaction":
        commits = 1
    return Compacted(commits)


def _incremental_mode(options: TableModel) -> str:
    mode = table_options.INCREMENTAL_BETWEEN_SCAN_MODE.of(options)
    if mode != "auto":
        return mode
    return "delta" if options.changelog_producer == "none" else "changelog"


def _refuse_others(options: TableModel) -> None:
    for key, value in options.items():
        refusal = refusal_of(state_of(key))
        if refusal is not None and refusal.by & READS and not refusal.accepts(value):
            raise refusal.error(key, value, "options")
        if key.startswith(("scan.", "log.scan", "incremental-")) and state_of(key) is None:
            raise UnsupportedError(
                f"option '{key}' = '{value}' is not supported", "options", f"Use one of {', '.join(_KEYS)}."
            )


def _pair(text: str, key: str, example: str) -> tuple[str, str]:
    parts = text.split(",")
    if len(parts) != 2:
        raise OptionError(f"'{key}' = '{text}'", "options", f"Give start and end, such as {example}.")
    return parts[0], parts[1]


def _moment(text: str, key: str) -> int:
    """Milliseconds since 1970-01-01 UTC of a local time."""
    try:
        return int(dt.datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except ValueError as error:
        raise OptionError(
            f"'{key}' has the time '{text}'", "options", "Write it as 2024-05-14 10:20:30, in local time."
        ) from error
