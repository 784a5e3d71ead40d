"""Emptying the bin: what goes by age and by size, and what never does."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import OptionError
from maintenance.operations import empty_bin
from maintenance.operations.bin.run import BIN, BinRun, Going, RunHead, list_runs
from tests.small_tables import small_table

NOW = datetime(2024, 5, 14, tzinfo=UTC)


def filled_bin(table: CatalogTable, folder: Path, ages_in_days: list[int], *, closed: bool = True) -> list[str]:
    """A run of a thousand bytes for each age."""
    names = []
    for days in ages_in_days:
        moment = NOW - timedelta(days=days)
        name = f"{moment:%Y%m%dT%H%M%S}-{days:08x}"
        run = BinRun(table.file_io, str(folder), RunHead(name, table.identifier, table.location, "x", moment))
        path = Path(table.location) / f"orphan-{days}"
        path.write_bytes(b"x" * 1000)
        run.take([Going(str(path), 1000)])
        if closed:
            run.close()
        names.append(name)
    return names


def test_runs_past_the_window_go(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    old, older, young = filled_bin(table, tmp_path, [8, 30, 1])
    dry = empty_bin(table.file_io, str(tmp_path), now=NOW, dry_run=True)
    assert dry.runs == (older, old)
    assert len(list_runs(table.file_io, str(tmp_path))) == 3
    report = empty_bin(table.file_io, str(tmp_path), now=NOW)
    assert report.runs == (older, old)
    assert (report.files, report.remaining_runs) == (6, 1)
    assert report.bytes > 2000
    assert list_runs(table.file_io, str(tmp_path)) == [young]


def test_the_oldest_go_until_the_rest_fits(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    names = filled_bin(table, tmp_path, [3, 2, 1])
    assert empty_bin(table.file_io, str(tmp_path), max_bytes=2800, now=NOW).runs == (names[0],)
    assert empty_bin(table.file_io, str(tmp_path), max_bytes=0, now=NOW).runs == tuple(names[1:])


def test_a_run_that_may_still_be_going_on_stays(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    (open_run,) = filled_bin(table, tmp_path, [0], closed=False)
    report = empty_bin(table.file_io, str(tmp_path), window=timedelta(0), max_bytes=0, now=NOW)
    assert (report.runs, report.remaining_runs) == ((), 1)
    assert open_run in report.notes[0]
    later = empty_bin(table.file_io, str(tmp_path), window=timedelta(0), now=NOW + timedelta(days=2))
    assert later.runs == (open_run,)


def test_folders_that_others_put_there_stay(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    mine = tmp_path / BIN / "mine"
    mine.mkdir(parents=True)
    (mine / "file").write_text("mine")
    assert empty_bin(table.file_io, str(tmp_path), window=timedelta(0), max_bytes=0).runs == ()
    assert (mine / "file").exists()


def test_limits_below_zero_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError):
        empty_bin(small_table(tmp_path).file_io, str(tmp_path), window=timedelta(days=-1))
