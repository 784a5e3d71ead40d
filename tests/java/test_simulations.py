"""What the core's writers compact beside writing is what is picked of its arrivals when they are replayed."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from maintenance.operations.tuning.arrivals import past_of
from maintenance.operations.tuning.overlap import overlap_of
from maintenance.operations.tuning.simulation import FileBytes, Simulation
from tests.java.process import JavaProcess
from tests.tables import create_table, get_table, live_files

CASES: Mapping[str, Mapping[str, str]] = {
    "merge-on-read": {"num-sorted-run.compaction-trigger": "3"},
    "merge-on-write": {"deletion-vectors.enabled": "true"},
    "first-row": {"merge-engine": "first-row"},
}


@pytest.mark.parametrize("how", CASES)
def test_the_replay_of_its_history_has_its_files(java: JavaProcess, tmp_path: Path, how: str) -> None:
    create_table(tmp_path, options={"write-only": "false", **CASES[how]})
    for number in range(9):
        java.write(str(tmp_path), "db.t", [(number * 3 + i, f"{number:02}/{i}") for i in range(6)])
    table = get_table(tmp_path)
    past = past_of(table, 1000)
    found = Simulation(table, past, overlap_of(past.merged), FileBytes.of(past)).run()
    assert found.picks
    expected = sorted((file.file_name, file.level, file.row_count) for file in live_files(table))
    assert sorted((e.file.file_name, e.file.level, e.file.row_count) for e in found.files) == expected
