"""Which snapshot a read sees, and scan options that are refused."""

import datetime as dt
from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, SetOption
from maintenance.errors import NotFoundError, OptionError, UnsupportedError
from maintenance.format.metadata.snapshot import serialize_snapshot
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.create_tag import create_tag
from tests.tables import create_table, get_table, keyed, open_warehouse, state

START = 1_700_000_000_000


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Snapshots 1 to 4, a minute apart, with the keys up to their number."""
    table = create_table(tmp_path)
    for i in range(1, 5):
        table.write_arrow(keyed({i: str(i)}))
        snapshot = replace(table.snapshots.get(i), time_millis=START + 60_000 * i)
        Path(table.paths.snapshot(i)).write_bytes(serialize_snapshot(snapshot))
    return table


def seen(table: CatalogTable, **options: object) -> int:
    """The largest key of a read, which is the number of its snapshot."""
    named = {"scan." + key.replace("_", "-"): str(value) for key, value in options.items()}
    return max(state(table, options=named))


def test_a_number_gives_its_snapshot_or_is_not_found(table: CatalogTable) -> None:
    assert [seen(table, snapshot_id=i) for i in (1, 2, 4)] == [1, 2, 4]
    with pytest.raises(NotFoundError, match="snapshot 9 does not exist"):
        seen(table, snapshot_id=9)


def test_a_tag_gives_its_state_though_the_snapshot_expired(table: CatalogTable) -> None:
    create_tag(table, "two", snapshot_id=2)
    expire_snapshots(table, retain_max=1, retain_min=1, older_than=dt.datetime.now())
    assert table.snapshots.list_ids() == [4]
    assert seen(table, tag_name="two") == 2
    with pytest.raises(NotFoundError, match=r"'three'.*two"):
        seen(table, tag_name="three")


@pytest.mark.parametrize(("millis", "expected"), [(60_000, 1), (119_999, 1), (120_000, 2), (10**9, 4)])
def test_a_time_gives_the_newest_snapshot_at_or_before_it(table: CatalogTable, millis: int, expected: int) -> None:
    assert seen(table, timestamp_millis=START + millis) == expected
    moment = dt.datetime.fromtimestamp((START + millis) / 1000)
    assert seen(table, timestamp=moment.isoformat(" ", timespec="milliseconds")) == expected


def test_a_time_before_the_first_snapshot_is_not_found(table: CatalogTable) -> None:
    with pytest.raises(NotFoundError, match="no snapshot at or before"):
        seen(table, timestamp_millis=START)


def test_texts_that_are_no_time(table: CatalogTable) -> None:
    with pytest.raises(OptionError, match=r"scan\.timestamp-millis"):
        seen(table, timestamp_millis="noon")
    with pytest.raises(OptionError, match=r"scan\.timestamp"):
        seen(table, timestamp="noon")
    with pytest.raises(OptionError, match=r"scan\.snapshot-id"):
        seen(table, snapshot_id="first")


def test_two_ways_to_travel_at_once_are_refused(table: CatalogTable) -> None:
    with pytest.raises(OptionError, match=r"scan\.snapshot-id and scan\.tag-name"):
        seen(table, snapshot_id=1, tag_name="x")


@pytest.mark.parametrize("mode", ["default", "latest-full", "full", "latest"])
def test_modes_of_a_batch_read(table: CatalogTable, mode: str) -> None:
    assert seen(table, mode=mode) == 4


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scan.ignore-corrupt-files", "true"),
        ("scan.ignore-lost-files", "true"),
        ("scan.not-invented-yet", "1"),
    ],
)
def test_scan_options_that_are_not_supported_are_refused(table: CatalogTable, key: str, value: str) -> None:
    with pytest.raises(UnsupportedError, match=f"option '{key}' = '{value}'"):
        table.to_arrow(options={key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scan.bounded.watermark", "0"),
        ("log.scan", "latest"),
        ("scan.manifest.parallelism", "2"),
        ("scan.max-splits-per-task", "2"),
        ("scan.ignore-corrupt-files", "false"),
        ("scan.ignore-lost-files", "false"),
    ],
)
def test_scan_options_without_meaning_here(table: CatalogTable, key: str, value: str) -> None:
    assert table.to_arrow(options={key: value}).num_rows == 4


def test_an_old_snapshot_has_its_schema(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("snapshot.num-retained.min", "3")])
    altered = get_table(tmp_path)
    altered.write_arrow(keyed({1: "b"}))
    assert state(altered, options={"scan.snapshot-id": "1"}) == {1: "a"}
    assert altered.copy({"scan.snapshot-id": "1"}).travelled()[0].schema.id == 0
    assert altered.travelled()[0].schema.id == 1


def test_a_table_without_snapshot_is_empty(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    assert table.to_arrow().num_rows == 0
    assert table.to_arrow(where="id = 1", columns=["v"]).schema.names == ["v"]
    with pytest.raises(NotFoundError):
        table.to_arrow(options={"scan.timestamp-millis": "1"})
