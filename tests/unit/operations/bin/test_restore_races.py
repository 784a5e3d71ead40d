"""A restore that meets others at each of its steps: whatever can be read after it reads as it did before."""

import itertools
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.fs.file_io import FileIO
from maintenance.operations import empty_bin, expire_snapshots, fsck, remove_orphan_files, restore
from maintenance.operations.bin.run import list_runs
from tests.small_tables import put, rows_at, rows_of_tag, table_in
from tests.unit.operations.bin.test_restore import begin, filled
from tests.unit.operations.orphans.test_remove_orphan_files import age

Rival = Callable[[CatalogTable, Path], object]


def emptied(table: CatalogTable, warehouse: Path) -> None:
    later = datetime.now(UTC) + timedelta(days=2)  # at once the run would count as going on
    empty_bin(table.file_io, str(warehouse), window=timedelta(0), now=later)


RIVALS: dict[str, Rival] = {
    "empty_bin": emptied,
    "remove_orphan_files": lambda table, _: remove_orphan_files(None, table),
    "expire_snapshots": lambda table, _: expire_snapshots(table, retain_min=1, retain_max=1),
    "restore": lambda table, warehouse: restore(table, str(warehouse), the_run(warehouse)),
    "a commit": lambda table, _: put(table, {7: "new"}),
}


def the_run(warehouse: Path) -> str:
    (run,) = list_runs(FileIO(), str(warehouse))
    return run


def meeting(monkeypatch: pytest.MonkeyPatch, step: int, act: Callable[[], object]) -> list[int]:
    """Have something happen right before a file is moved for the step-th time. Returns the moves counted."""
    moved: list[int] = []
    real = FileIO.move_file

    def move_file(self: FileIO, source: str, target: str) -> None:
        moved.append(1)
        if len(moved) == step:
            act()
        real(self, source, target)

    monkeypatch.setattr(FileIO, "move_file", move_file)
    return moved


@pytest.mark.parametrize("rival", RIVALS)
def test_what_others_do_meanwhile_leaves_no_state_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rival: str
) -> None:
    table = filled(tmp_path / "lake")
    expected = {i: rows_at(table, i) for i in range(1, 7)}
    run = begin(table, tmp_path / "lake")
    expire_snapshots(table, retain_min=2, retain_max=2, into=run)
    for step in itertools.count(1):
        warehouse = tmp_path / f"{step}"
        shutil.copytree(tmp_path / "lake", warehouse)
        age(warehouse)
        table = table_in(warehouse)
        with monkeypatch.context() as patched:
            moved = meeting(patched, step, partial(RIVALS[rival], table, warehouse))
            report = restore(table, str(warehouse), run.head.run)
        reopened = table_in(warehouse)
        for snapshot_id in set(reopened.snapshots.list_ids()) & {*expected}:
            assert rows_at(reopened, snapshot_id) == expected[snapshot_id], (step, report)
        for name in reopened.tags.names():
            assert rows_of_tag(reopened, name) == expected[int(name.rpartition("-")[2])], (step, name, report)
        assert fsck(reopened.file_io, reopened.location).healthy, (step, report)
        assert {*report.tags} <= {*reopened.tags.names()}
        if len(moved) < step:
            return
