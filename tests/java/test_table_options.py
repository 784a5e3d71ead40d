"""Options of a table's files and commits: the Java core and this engine write and compact one table in turn."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.orphans.remove_orphan_files import remove_orphan_files
from tests.java.process import JavaProcess
from tests.tables import create_table, get_table, keyed

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "lookup": {"force-lookup": "true"},
    "lookup of partial updates": {"force-lookup": "true", "merge-engine": "partial-update"},
    "vectors beside the data": {"index-file-in-data-file-dir": "true", "deletion-vectors.enabled": "true"},
    "keys beside the data": {"index-file-in-data-file-dir": "true", "bucket": "-1"},
    "no statistics of deleted files": {"manifest.delete-file-drop-stats": "true", "manifest.merge-min-count": "2"},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_both_write_and_compact_in_turn(java: JavaProcess, tmp_path: Path, name: str) -> None:
    warehouse = str(tmp_path)
    dynamic = OPTIONS[name].get("bucket") == "-1"
    table = create_table(tmp_path, options=OPTIONS[name])
    write = java.write_dynamic if dynamic else java.write
    expected: dict[int, str | None] = {}
    for turn in range(4):
        ours, theirs = {turn: f"our {turn}", 9: f"our {turn}"}, [(turn + 1, f"their {turn}"), (8, f"their {turn}")]
        table.write_arrow(keyed(ours))
        write(warehouse, "db.t", theirs, ["+I"] * len(theirs))
        expected |= ours | dict(theirs)
        if turn % 2:
            assert compact(None, table, full=True).snapshot_ids
        else:
            java.compact(warehouse, "db.t")
        assert sorted(java.rows(warehouse, "db.t")) == sorted(expected.items())
        rows = get_table(tmp_path).to_arrow().to_pylist()
        assert {row["id"]: row["v"] for row in rows} == expected
    expire_snapshots(table, retain_max=1, retain_min=1, older_than=datetime.now(UTC) + timedelta(days=1))
    assert fsck(table.file_io, table.location, deep=True).faults == ()
    later = datetime.now(UTC) + timedelta(days=2)
    assert remove_orphan_files(None, get_table(tmp_path), now=later, dry_run=True).orphans == ()
    assert sorted(java.rows(warehouse, "db.t")) == sorted(expected.items())
