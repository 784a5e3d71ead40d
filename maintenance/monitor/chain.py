"""Is the chain of snapshots whole?"""

from collections.abc import Sequence

from maintenance.amounts import number_of
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.monitor.judgement import Judgement
from maintenance.table.table import Table

SNAPSHOT_CHAIN_INTACT = "snapshot_chain_intact"
_BATCH = 2**63 - 1


def snapshot_chain_intact(table: Table, *, limit: int = 200) -> Judgement:
    """Nothing is missing, counted twice or committed twice among the newest `limit` snapshots."""
    ids = table.snapshots.list_ids()[-limit:]
    snapshots = [snapshot for i in ids if (snapshot := table.snapshots.find(i)) is not None]
    faults = [*_gaps(ids), *_hint(table, ids), *_faults(snapshots)]
    details = {"snapshots": len(snapshots), "earliest": ids[0] if ids else 0, "latest": ids[-1] if ids else 0}
    if not faults:
        return Judgement(
            SNAPSHOT_CHAIN_INTACT, True, f"{number_of(len(snapshots), 'snapshot')} without a gap", details=details
        )
    return Judgement(
        SNAPSHOT_CHAIN_INTACT,
        False,
        "; ".join(faults[:5]) + (f"; and {len(faults) - 5} more" if len(faults) > 5 else ""),
        "Run fsck on the table; if a commit was lost or committed twice, roll back to a snapshot or tag before it.",
        {**details, "faults": [{"fault": fault} for fault in faults]},
    )


def _gaps(ids: Sequence[int]) -> list[str]:
    return [
        f"snapshots {before + 1} to {after - 1} are missing"
        for before, after in zip(ids, ids[1:], strict=False)
        if after != before + 1
    ]


def _hint(table: Table, ids: Sequence[int]) -> list[str]:
    hint = table.snapshots.read_hint("LATEST")
    if hint is None or not ids or hint <= ids[-1]:
        return []
    return [f"LATEST says {hint}, the newest snapshot is {ids[-1]}"]


def _faults(snapshots: Sequence[Snapshot]) -> list[str]:
    faults = []
    seen: dict[tuple[str, int, str], int] = {}
    for before, snapshot in zip([None, *snapshots], snapshots, strict=False):
        if snapshot.commit_identifier != _BATCH:
            made = (snapshot.commit_user, snapshot.commit_identifier, str(snapshot.commit_kind))
            if made in seen:
                faults.append(
                    f"snapshots {seen[made]} and {snapshot.id} are both commit {snapshot.commit_identifier} of "
                    f"'{snapshot.commit_user}', kind {snapshot.commit_kind}"
                )
            seen[made] = snapshot.id
        if before is None or before.id != snapshot.id - 1:
            continue
        expected = before.total_record_count + snapshot.delta_record_count
        if snapshot.total_record_count != expected:
            faults.append(
                f"snapshot {snapshot.id} counts {snapshot.total_record_count} records, but {before.id} and its delta "
                f"make {expected}"
            )
    return faults
