"""Which snapshots an incremental read is about. Source: data section 6.6, Java `AbstractDataTableScan`."""

from maintenance.errors import NotFoundError, OptionError
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.scan.history import History
from maintenance.scan.startup import Between, BetweenTimes
from maintenance.scan.target import NOTHING, Difference, RecordChanges, ScanTarget


def between(history: History, request: Between) -> ScanTarget:
    """Between two tags or two ids. Raises: OptionError: they are neither, or end before they start; NotFoundError."""
    tags = [history.tags.find(name) if name.strip() else None for name in (request.start, request.end)]
    if tags[0] is not None and tags[1] is not None:
        return _between_tags(history, request, tags[0].snapshot, tags[1].snapshot)
    if not (request.start.isdecimal() and request.end.isdecimal()):
        raise OptionError(
            f"'incremental-between' = '{request.start},{request.end}' are neither two tags nor two snapshot ids",
            history.table,
            f"There are the tags: {history.tag_names()}.",
        )
    start, end = int(request.start), int(request.end)
    if end < start:
        fix = "Name the earlier state first: 'incremental-between' = '<from>,<to>'."
        raise OptionError(f"'incremental-between' = '{start},{end}' ends before it starts", history.table, fix)
    if start == end or history.snapshots.earliest_id() is None:
        return NOTHING
    if request.mode == "diff":
        return Difference(history.get(start), history.get(end))
    return _changes(history, start, end, request.mode)


def _between_tags(history: History, request: Between, start: Snapshot, end: Snapshot) -> ScanTarget:
    if end.id < start.id:
        raise OptionError(
            f"tag '{request.end}' holds snapshot {end.id}, earlier than tag '{request.start}' with {start.id}",
            history.table,
            "Name the earlier state first: 'incremental-between' = '<from>,<to>'.",
        )
    if not request.tags_are_snapshots:
        return NOTHING if end.id == start.id else Difference(start, end)
    if request.mode == "diff":
        raise OptionError(
            "'incremental-between-tag-to-snapshot' with 'incremental-between-scan-mode' = 'diff'",
            history.table,
            "Unset one of them: two tags are compared anyway.",
        )
    return _changes(history, start.id, end.id, request.mode)


def between_times(history: History, request: BetweenTimes) -> ScanTarget:
    """Between two moments, each standing for the last snapshot at it or before."""
    ends = history.ends()
    if ends is None or request.start == request.end:
        return NOTHING
    earliest, latest = ends
    if request.start > latest.time_millis or request.end < earliest.time_millis:
        return NOTHING
    start, end = history.at_or_before(request.start), history.at_or_before(request.end)
    if end is None:
        end = latest
    if request.mode != "diff":
        return _changes(history, earliest.id - 1 if start is None else start.id, end.id, request.mode)
    # From before the first snapshot it is compared with the first: Paimon 2.1 shows the first's rows too.
    return Difference(earliest if start is None else start, end)


def _changes(history: History, start: int, end: int, mode: str) -> RecordChanges:
    earliest, latest = history.snapshots.earliest_id() or 0, history.snapshots.latest_id() or 0
    if start < earliest - 1 or end > latest:
        raise NotFoundError(
            f"changes after snapshot {start} up to {end}: snapshots {earliest} to {latest} are there",
            history.table,
            f"Use {earliest - 1} to {latest}.",
        )
    changelog = mode == "changelog"
    kinds = tuple(CommitKind) if changelog else (CommitKind.APPEND,)
    snapshots = (history.get(snapshot_id) for snapshot_id in range(start + 1, end + 1))
    return RecordChanges(
        tuple(s for s in snapshots if s.commit_kind in kinds and s.commit_kind != "OVERWRITE"), changelog
    )


def to_auto_tag(history: History, name: str) -> ScanTarget:
    """From the automatic tag before this one. Raises: OptionError: the name is not that of an automatic tag."""
    time = history.tag_form.time_of(name)
    if time is None:
        raise OptionError(
            f"'incremental-to-auto-tag' = '{name}' is not the name of an automatic tag",
            history.table,
            "Name one, or set 'tag.creation-period' and 'tag.period-formatter' to what its tags have.",
        )
    tag = history.tags.find(name)
    times = {other: history.tag_form.time_of(other) for other in history.tags.names()}
    earlier = {other: at for other, at in times.items() if at is not None and at < time}
    if tag is None or not earlier:
        return NOTHING
    before = history.tag(max(earlier, key=lambda other: earlier[other]))
    return Difference(before.snapshot, tag.snapshot)
