"""Iceberg metadata that both engines write by turns: pyiceberg reads what the table holds after each."""

from pathlib import Path

import pytest
from pyiceberg.table import StaticTable

from maintenance.operations import compact
from tests.java.process import JavaProcess
from tests.small_tables import put, rows, small_table


@pytest.mark.parametrize("version", ["2", "3"])
def test_each_continues_the_metadata_of_the_other(java: JavaProcess, tmp_path: Path, version: str) -> None:
    options = {
        "metadata.iceberg.storage": "table-location",
        "metadata.iceberg.format-version": version,
        "compaction.min.file-num": "2",
    }
    table = small_table(tmp_path, options, primary_key=False)

    def seen(history: int) -> list[tuple[int, str]]:
        folder = Path(f"{table.location}/metadata")
        number = (folder / "version-hint.text").read_text()
        actual = StaticTable.from_metadata(str(folder / f"v{number}.metadata.json"))
        assert [s.snapshot_id for s in actual.metadata.snapshots][-history:] == [
            int(number) - history + 1 + i for i in range(history)
        ]
        return sorted((row["k"], row["v"]) for row in actual.scan().to_arrow().to_pylist())

    java.write(str(tmp_path), "db.t", [(1, "a")])
    put(table, {2: "b"})
    assert seen(1) == rows(table)
    java.write(str(tmp_path), "db.t", [(3, "c")])
    assert seen(2) == rows(table)
    java.compact(str(tmp_path), "db.t")
    assert seen(3) == rows(table)
    put(table, {4: "d"})
    compact(None, table, full=True)
    java.write(str(tmp_path), "db.t", [(5, "e")])
    assert seen(2) == rows(table) == [(1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "e")]
