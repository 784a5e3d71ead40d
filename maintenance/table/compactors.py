"""Who else compacts a table, and what that endangers.

Paimon's own writers compact what they write, unless the table is `write-only`. Beside a compaction of ours one of the
two loses each race. Mostly that costs work: the loser's compaction was in vain, and a Flink job restarts. With a
primary key and deletion vectors it costs rows: such a writer keeps the vectors of its buckets in memory, and publishes
them without looking at what the other one has committed.
Source: Java `BucketedDvMaintainer`, `IndexManifestFileHandler`.
"""

from itertools import islice

from maintenance.commit.identity import is_ours
from maintenance.errors import OptionError
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from maintenance.options.own import BESIDE_OTHER_COMPACTORS
from maintenance.table.table import Table

_LOOKED_BACK = 500


def writers_compact(table: Table) -> bool:
    """Whether Paimon's own writers compact the table while they write it."""
    return not table.model.write_only and not table.model.is_postponed


def endangers_deletions(table: Table) -> bool:
    """Whether deleted rows may come back where a writer compacts beside us."""
    vectors = table.is_primary_key_table and table.model.has_deletion_vectors
    return vectors and writers_compact(table)


def warnings_of(table: Table) -> tuple[str, ...]:
    """What must be said before this table is compacted here; nothing of most tables."""
    if not endangers_deletions(table):
        return ()
    risk = (
        f"Table {table.identifier} has deletion vectors and is not 'write-only'. A Flink or Spark writer then compacts,"
        " too, and deleted rows may come back where both compact a bucket: this is a matter of correctness, not of"
        " speed. Set 'write-only' = 'true', and start the writers again."
    )
    refused = refusal(table)
    return (risk,) if refused is None else (risk, f"The compaction refuses to run: {refused}")


def other_compaction(table: Table, *, by_streams: bool = False) -> Snapshot | None:
    """The newest compaction that another engine committed, among the newest snapshots.

    `by_streams`: only of writers that go on after a commit. A batch job is over with its commit, and keeps nothing.
    """
    for snapshot in islice(table.snapshots.newest_first(), _LOOKED_BACK):
        ended = by_streams and snapshot.commit_identifier == BATCH_IDENTIFIER
        if snapshot.commit_kind == CommitKind.COMPACT and not is_ours(snapshot) and not ended:
            return snapshot
    return None


def refusal(table: Table, *, inline: bool = False) -> OptionError | None:
    """Why the table may not be compacted here: another engine does it, so deleted rows would return. None: it may.

    `inline`: by a writer while it writes. It alternates with batch jobs that do the same; with streams it cannot.
    """
    if not endangers_deletions(table) or table.model.beside_other_compactors:
        return None
    other = other_compaction(table, by_streams=inline)
    if other is None:
        return None
    return OptionError(
        f"the table has deletion vectors, is not 'write-only', and is compacted by another engine as well: snapshot"
        f" {other.id} by commit user '{other.commit_user}' is a compaction of its own. Where both compact a bucket,"
        " deleted rows come back",
        f"compaction of {table.identifier}",
        "Set 'write-only' = 'true', and start the writers again. If that compaction has stopped permanently, set"
        f" '{BESIDE_OTHER_COMPACTORS.key}' = 'true' instead ('compaction.beside_other_compactors' in tables.yaml).",
    )


def refuse_if_others_compact(table: Table, *, inline: bool = False) -> None:
    """Raises: OptionError: as `refusal` says."""
    error = refusal(table, inline=inline)
    if error is not None:
        raise error
