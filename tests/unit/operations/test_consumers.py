"""Streaming readers on record: moved, ended, damaged."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError, NotFoundError, OptionError
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.clear_consumers import clear_consumers
from maintenance.operations.refs.reset_consumer import reset_consumer
from tests.small_tables import put, small_table


def filled(folder: Path) -> CatalogTable:
    table = small_table(folder)
    for i in range(4):
        put(table, {i: "x"})
    return table


def test_a_consumer_is_moved_and_ended(tmp_path: Path) -> None:
    table = filled(tmp_path)
    assert reset_consumer(table, "a", 2) is None
    assert expire_snapshots(table, retain_max=1, retain_min=1).expired == (1,)
    assert reset_consumer(table, "a", 4) == 2
    assert expire_snapshots(table, retain_max=1, retain_min=1, dry_run=True).expired == (2, 3)
    assert reset_consumer(table, "a") == 4
    assert table.consumers.names() == []
    with pytest.raises(NotFoundError, match="There are: none"):
        reset_consumer(table, "a")


def test_a_consumer_reads_next_what_is_there_or_comes_next(tmp_path: Path) -> None:
    table = filled(tmp_path)
    expire_snapshots(table, retain_max=2, retain_min=2)
    for wrong in (0, 2, 6):
        with pytest.raises(NotFoundError, match="Use 3 to 5"):
            reset_consumer(table, "a", wrong)
    reset_consumer(table, "a", 5)
    assert table.consumers.next_snapshots() == {"a": 5}


def test_a_damaged_consumer_stops_expiry_until_it_is_reset(tmp_path: Path) -> None:
    table = filled(tmp_path)
    reset_consumer(table, "a", 3)
    (Path(table.paths.consumer_folder()) / "consumer-a").write_text('{"next')
    with pytest.raises(CorruptFileError, match="Reset the consumer"):
        expire_snapshots(table, retain_max=1, retain_min=1)
    assert reset_consumer(table, "a", 3) is None
    assert expire_snapshots(table, retain_max=1, retain_min=1).expired == (1, 2)


def test_consumers_are_cleared_by_name(tmp_path: Path) -> None:
    table = filled(tmp_path)
    for name in ("job-1", "job-22", "other"):
        reset_consumer(table, name, 1)
    assert clear_consumers(table, including="job-.*", excluding=".*22", dry_run=True) == ("job-1",)
    assert clear_consumers(table, including="job-.*", excluding=".*22") == ("job-1",)
    assert clear_consumers(table, including="job") == ()
    assert clear_consumers(table) == ("job-22", "other")
    with pytest.raises(OptionError):
        clear_consumers(table, including="(")
