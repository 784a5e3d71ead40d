"""Paimon's rule for the range of expired snapshots, step by step as its own program walks it, run after run."""

from collections.abc import Mapping, Sequence


def expired_until(
    times: Mapping[int, int],
    *,
    retain_min: int,
    retain_max: int,
    older_than: int,
    next_of_consumers: Sequence[int] = (),
    limit: int = 50,
) -> int:
    """The earliest snapshot id after as many runs as change anything.

    Args: `times`: commit time by id, without gaps; `older_than`: a successor from this time on keeps a snapshot;
        `limit`: snapshots of one run.
    """
    earliest, latest = min(times), max(times)
    while True:
        end = _one_run(times, earliest, latest, retain_min, retain_max, older_than, next_of_consumers, limit)
        if end <= earliest:
            return earliest
        earliest = end


def _one_run(
    times: Mapping[int, int],
    earliest: int,
    latest: int,
    retain_min: int,
    retain_max: int,
    older_than: int,
    next_of_consumers: Sequence[int],
    limit: int,
) -> int:
    first = max(latest - retain_max + 1, earliest)
    stop = min([latest - retain_min + 1, earliest + limit, *next_of_consumers])
    for snapshot_id in range(first, stop):
        if times[snapshot_id + 1] >= older_than:
            return snapshot_id
    return stop
