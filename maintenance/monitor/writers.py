"""Do writers interfere with each other? Judged from the census of a table's newest snapshots.

Successive writers, such as batch jobs, are fine. Two that alternate are not: each of them keeps its own state (sequence
numbers, the files it wants to compact), and the other one's commits make that state wrong.
Source: seed 001 (dedicated compaction), Paimon's documentation on multiple writers.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from maintenance.amounts import number_of
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.metadata.paths import bucket_text
from maintenance.monitor.census import Census, Commit, Interleaving, Place, Writer, find_interleaving
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.settled import SettledBy, unless_settled
from maintenance.table.acknowledged import OF_WRITERS
from maintenance.table.table import Table

SINGLE_COMPACTOR, NO_BUCKET_OVERLAP, WRITERS_ARE_WRITE_ONLY = OF_WRITERS
_SHOWN_PLACES = 5
_USUAL = SettledBy()


def judge_writers(
    table: Table, census: Census, by: SettledBy = _USUAL, now: datetime | None = None
) -> tuple[Judgement, ...]:
    """All judgements over writers. `by`: when a conflict is over; `now`: with a time zone, None: the current time."""
    judges = (single_compactor, partial(no_bucket_overlap, table), writers_are_write_only)
    return tuple(unless_settled(judge, census, by, now or datetime.now(UTC)) for judge in judges)


def single_compactor(census: Census) -> Judgement:
    """No two compactors alternate in a bucket: each throws away what the other one did, or fails."""
    compactions = [commit for commit in census.commits if commit.kind == CommitKind.COMPACT]
    interleaving = find_interleaving(compactions, same_place=True)
    details = {"compactors": len({commit.writer for commit in compactions}), "compactions": len(compactions)}
    if interleaving is None:
        return Judgement(SINGLE_COMPACTOR, True, _compactors(compactions), details=details)
    return Judgement(
        SINGLE_COMPACTOR,
        False,
        f"two compactors work on the same buckets alternately: {_turns(interleaving)}",
        "Let one job compact: set 'write-only' = 'true' for every writer, and stop the other compaction.",
        {**details, **_shown(interleaving)},
    )


def no_bucket_overlap(table: Table, census: Census) -> Judgement:
    """No two writers of a table with a primary key alternate in a bucket: their sequence numbers would clash."""
    kinds = (CommitKind.APPEND, CommitKind.OVERWRITE)
    # What only drops partitions numbers no records.
    appends = [c for c in census.commits if c.kind in kinds and c.added_files]
    details = {"writers": len({commit.writer for commit in appends}), "appends": len(appends)}
    if not table.is_primary_key_table:
        return Judgement(NO_BUCKET_OVERLAP, True, "without a primary key writers cannot clash", details=details)
    interleaving = find_interleaving(appends, same_place=True)
    if interleaving is None:
        return Judgement(NO_BUCKET_OVERLAP, True, "no two writers alternate in a bucket", details=details)
    return Judgement(
        NO_BUCKET_OVERLAP,
        False,
        f"two writers write the same buckets alternately: {_turns(interleaving)}",
        "Let one job write each partition, or order versions by a column: 'sequence.field'; and 'write-only' = 'true'.",
        {**details, **_shown(interleaving)},
    )


def writers_are_write_only(census: Census) -> Judgement:
    """Nobody compacts what it writes while somebody else commits to the table, too."""
    writers = census.writers
    inline = [writer for writer in writers.values() if writer.compacts_inline]
    details: dict[str, Any] = {"writers": len(writers), "writers that compact": len(inline)}
    clash = next(((one, other) for one in reversed(inline) for other in writers.values() if _meet(one, other)), None)
    if clash is None:
        return Judgement(WRITERS_ARE_WRITE_ONLY, True, "no writer compacts while others write", details=details)
    one, other = clash
    theirs = [c.snapshot_id for c in one.of_kind(CommitKind.COMPACT)]
    where = _places(commit.places for commit in one.commits)
    summary = (
        f"writer '{one.name}' compacts what it writes (last in snapshot {theirs[-1]}) while '{other.name}' commits to "
        f"the table, too (last in snapshot {other.commits[-1].snapshot_id}), in {where}"
    )
    return Judgement(
        WRITERS_ARE_WRITE_ONLY,
        False,
        summary,
        f"Set 'write-only' = 'true' for '{one.name}', and compact in a dedicated job.",
        {**details, "first": one.name, "second": other.name, "snapshots": theirs[-_SHOWN_PLACES:]},
    )


def _meet(one: Writer, other: Writer) -> bool:
    """Whether another writer commits within the time of this one, or it within the other's."""
    if one.name == other.name:
        return False
    begin, end = one.commits[0].snapshot_id, one.commits[-1].snapshot_id
    return any(begin < commit.snapshot_id < end for commit in other.commits)


def _compactors(compactions: list[Commit]) -> str:
    if not compactions:
        return "no recent compactions"
    return f"{number_of(len(compactions), 'compaction')}, the last by '{compactions[-1].writer}'; no two alternate"


def _turns(interleaving: Interleaving) -> str:
    first, between, again = interleaving.commits
    return (
        f"'{interleaving.first}' (snapshots {first.snapshot_id} and {again.snapshot_id}{_origin(again)}) and "
        f"'{interleaving.second}' (snapshot {between.snapshot_id}{_origin(between)}) in "
        f"{_places([interleaving.places])}"
    )


def _origin(commit: Commit) -> str:
    """The run or the application that committed, where the snapshot says it."""
    if commit.run:
        return f", run {commit.run}"
    return f", Spark application {commit.application}" if commit.application else ""


def _places(places: Iterable[Iterable[Place]]) -> str:
    named = sorted({bucket_text(partition, bucket) for group in places for partition, bucket in group})
    and_others = f" and {len(named) - _SHOWN_PLACES} more" if len(named) > _SHOWN_PLACES else ""
    return ", ".join(named[:_SHOWN_PLACES]) + and_others


def _shown(interleaving: Interleaving) -> dict[str, Any]:
    return {
        "first": interleaving.first,
        "second": interleaving.second,
        "snapshots": [commit.snapshot_id for commit in interleaving.commits],
        "places": [bucket_text(partition, bucket) for partition, bucket in sorted(interleaving.places)],
    }
