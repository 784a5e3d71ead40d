"""What an interrupted rewrite has written is deleted, and nothing else."""

from pathlib import Path

import pytest

from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.operations.compaction.interrupted import cleared_if_interrupted, new_stamp
from tests.tables import create_table, files_on_disk, keyed


@pytest.mark.parametrize("external", [False, True])
def test_files_of_the_rewrite_go(tmp_path: Path, external: bool) -> None:
    roots = {"data-file.external-paths": f"file://{tmp_path}/out", "data-file.external-paths.strategy": "round-robin"}
    table = create_table(tmp_path, options={"bucket": "1", **(roots if external else {})})
    table.write_arrow(keyed({1: "a", 2: "b"}))
    folders = [path.parent for path in tmp_path.rglob("data-*.parquet")]
    before, stamp = files_on_disk(table), new_stamp()
    ours = [folder / f"data-{stamp}-x-{number}.parquet" for folder in folders for number in (0, 1)]
    for path in (*ours, folders[0] / "data-of-another-writer.parquet"):
        path.touch()
    with pytest.raises(KeyboardInterrupt), cleared_if_interrupted(table, {(EMPTY_ROW, 0)}, stamp, quiet_looks=0):
        raise KeyboardInterrupt
    assert not any(path.exists() for path in ours)
    assert (folders[0] / "data-of-another-writer.parquet").exists()
    assert before <= files_on_disk(table)
