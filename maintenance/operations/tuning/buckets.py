"""The same arrivals in another number of buckets: rows of a partition are spread over its buckets evenly."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.operations.compaction.plan import Group
from maintenance.operations.tuning.arrivals import Moment, Past, key_at, place_of


def rebucketed(past: Past, buckets: int, whole: float) -> Past:
    """As if the table had had so many buckets. `whole`: bytes of a file, whatever is in it."""
    groups: dict[bytes, set[Group]] = {}
    _note(groups, past.start)
    moments: list[Moment] = []
    for number, moment in enumerate(past.moments):
        emptied = {partition for partition, _ in moment.emptied if groups.get(partition, set()) <= moment.emptied}
        moments.append(
            replace(
                moment,
                added=_spread(moment.added, buckets, whole, f"arrived-{number}"),
                gone=_spread(moment.gone, buckets, whole, f"gone-{number}"),
                emptied=frozenset((partition, bucket) for partition in emptied for bucket in range(buckets)),
            )
        )
        _note(groups, moment.added)
    start = _spread(past.start, buckets, whole, "start")
    return Past(start, tuple(moments), None, (), past.first_id, past.last_id)


def _note(groups: dict[bytes, set[Group]], entries: Iterable[ManifestEntry]) -> None:
    for entry in entries:
        groups.setdefault(entry.partition, set()).add((entry.partition, entry.bucket))


def _spread(entries: Sequence[ManifestEntry], buckets: int, whole: float, name: str) -> tuple[ManifestEntry, ...]:
    """Files that came together, as one for each bucket that gets rows of them."""
    together: dict[tuple[bytes, int, int], list[ManifestEntry]] = {}
    for entry in entries:
        level, made = entry.file.level, entry.file.creation_time or 0
        together.setdefault((entry.partition, level, 0 if level else made), []).append(entry)
    spread = []
    for place, members in enumerate(together.values()):
        files = [entry.file for entry in members]
        rows = sum(file.row_count for file in files)
        size = sum(max(0.0, file.file_size - whole) for file in files)
        deleted = sum(file.delete_row_count or 0 for file in files)
        keys: dict[str, Any] = {}
        if files[0].min_key:
            low = min(place_of(file.min_key)[0] for file in files)
            keys = {"min_key": key_at(low), "max_key": key_at(max(place_of(file.max_key)[0] for file in files))}
        for bucket in range(buckets):
            share = (rows + (bucket + place) % buckets) // buckets
            if share:
                file = replace(
                    files[0],
                    file_name=f"{name}-{place}-{bucket}",
                    file_size=round(whole + size * share / rows),
                    row_count=share,
                    delete_row_count=round(deleted * share / rows),
                    min_sequence_number=min(file.min_sequence_number for file in files),
                    max_sequence_number=max(file.max_sequence_number for file in files),
                    **keys,
                )
                spread.append(replace(members[0], bucket=bucket, total_buckets=buckets, file=file))
    return tuple(spread)
