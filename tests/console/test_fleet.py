"""The page of all tables: what is urgent first, filters in the address, figures as the sensor found them."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.scheduler.instigation import ScheduleInstigatorData

from maintenance.catalog import CatalogTable
from maintenance.operations.history import HistoryEntry, history_table, write_history
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.pages.fleet import FleetRow
from paimon_maintenance.console.fleet import Choice
from paimon_maintenance.console.lake import RADAR
from paimon_maintenance.sensors.cursor import Cursor
from paimon_maintenance.sensors.publishing import Judged
from tests.console_site import Answer, Site
from tests.dagster.conftest import remembering, state_of
from tests.tables import create_table, keyed, open_warehouse


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """One of each test's own, since they put into it what sensors remember."""
    with dg.instance_for_test() as instance:
        yield instance


def names(answer: Answer) -> list[str]:
    """The tables of the page, from the top down."""
    return re.findall(r'class="row-link" href="[^"]*">([^<]*)', answer.html)


def line(answer: Answer, table: str) -> str:
    """What a person reads in the row of a table."""
    rows = re.findall(r"<tr>.*?</tr>", answer.html, re.DOTALL)
    (row,) = [row for row in rows if f">{table}</a>" in row]
    return Answer(200, {}, row).text


def found_by_the_sensor(instance: dg.DagsterInstance, rows: list[FleetRow], at: float) -> None:
    """What `check_radar` remembers of tables."""
    tables = {row.table: Judged(at=at, row=tuple(row.serialize())) for row in rows}
    remembering(instance, RADAR, Cursor(tables=tables).serialize())


def test_every_table_is_a_row_that_is_a_link_the_most_urgent_first(site: Site, tmp_path: Path) -> None:
    create_table(tmp_path / "lake", name="db.calm").write_arrow(keyed({1: "a"}))
    answer = site.get("/")
    assert answer.status == 200
    assert names(answer) == ["db.months", "db.t", "db.calm"]
    assert "/tables/db.t" in answer.links()
    assert "no_bucket_overlap" in line(answer, "db.t")
    assert "healthy" in line(answer, "db.calm")
    assert "3 tables, 2 to look at" in answer.text
    assert line(answer, "db.t").split()[1] == "unhealthy"
    assert "10 5 live: 4.4 KiB" in line(answer, "db.t"), "rows waiting, sorted runs, bytes"


def test_filters_are_part_of_the_address(site: Site, tmp_path: Path) -> None:
    create_table(tmp_path / "lake", name="db.calm").write_arrow(keyed({1: "a"}))
    assert names(site.get("/?owner=team:sales")) == ["db.t"]
    assert names(site.get("/?state=healthy")) == ["db.calm"]
    assert names(site.get("/?database=other")) == []
    assert names(site.get("/?name=MON")) == ["db.months"]
    assert names(site.get("/?name=%3Cb%3E")) == []
    assert "<b>" not in site.get("/?name=%3Cb%3E").html
    assert 'value="&lt;b&gt;"' in site.get("/?name=%3Cb%3E").html


def test_figures_are_those_that_the_sensor_found(site: Site, instance: dg.DagsterInstance) -> None:
    row = FleetRow("db.t", "healthy", files=7, bytes=3 << 20, old_bytes=1 << 20, snapshots=9, waiting_rows=1234)
    found_by_the_sensor(instance, [row], datetime.now(UTC).timestamp() - 90)
    actual = line(site.get("/"), "db.t")
    assert "1,234" in actual
    assert "kept by old snapshots and tags: 1.0 MiB" in actual
    assert "1 min ago" in actual
    assert "4.0 MiB" in actual


def test_what_the_sensor_found_long_ago_is_looked_at_anew(site: Site, instance: dg.DagsterInstance) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=1)
    found_by_the_sensor(instance, [FleetRow("db.t", "healthy", bytes=3 << 20)], long_ago.timestamp())
    assert "unhealthy" in line(site.get("/"), "db.t")


def test_an_expiry_that_nothing_starts_is_told_and_one_that_is_planned_says_when(
    site: Site, instance: dg.DagsterInstance
) -> None:
    rows = [FleetRow("db.t", "healthy", bytes=10, due_snapshots=3)]
    found_by_the_sensor(instance, rows, datetime.now(UTC).timestamp())
    assert "expiry of 3 snapshots: the schedule daily_expiry is off" in line(site.get("/"), "db.t")
    on = state_of("daily_expiry", 0.0)
    instance.add_instigator_state(
        type(on)(on.origin, InstigatorType.SCHEDULE, on.status, ScheduleInstigatorData("0 3 * * *"))
    )
    assert re.search(r"expiry of 3 snapshots, \d{4}-\d\d-\d\d 03:00 UTC", line(site.get("/"), "db.t"))


def test_a_compaction_comes_by_itself_only_while_its_sensor_is_on(site: Site, instance: dg.DagsterInstance) -> None:
    rows = [FleetRow("db.t", "compaction due", bytes=10)]
    found_by_the_sensor(instance, rows, datetime.now(UTC).timestamp())
    assert "a compaction is due, and nothing starts it" in line(site.get("/"), "db.t")
    assert "no compaction starts by itself" in site.get("/").text
    instance.add_instigator_state(state_of(keys.LATEST_SENSOR, 0.0))
    assert "compaction within a minute" in line(site.get("/"), "db.t")
    assert "no compaction starts by itself" not in site.get("/").text


def test_the_week_of_a_table_is_drawn_from_the_history(site: Site, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    entries = [
        HistoryEntry(now - timedelta(days=days), "db.t", "compact", bytes_before=size, bytes_after=size)
        for days, size in ((3, 1 << 10), (1, 4 << 10), (9, 1 << 30))
    ]
    write_history(open_warehouse(tmp_path / "lake"), history_table("_maintenance"), entries)
    assert "live data in 7 days: 1.0 KiB to 4.0 KiB" in line(site.get("/"), "db.t")
    assert "live data in 7 days" not in line(site.get("/"), "db.months")


def test_many_tables_come_in_pages(tables_yaml: Path, instance: dg.DagsterInstance, tmp_path: Path) -> None:
    open_warehouse(tmp_path / "lake")
    tables = "".join(f"  - {{identifier: db.n{number:03d}, columns: {{v: STRING}}}}\n" for number in range(150))
    tables_yaml.write_text(tables_yaml.read_text().partition("tables:")[0] + "tables:\n" + tables)
    rows = [FleetRow(f"db.n{number:03d}", "healthy", bytes=number) for number in range(150)]
    found_by_the_sensor(instance, rows, datetime.now(UTC).timestamp())
    site = Site(tables_yaml, instance)
    first = site.get("/?state=healthy")
    assert len(names(first)) == 100
    assert "Page 1 of 2, 150 tables" in first.text
    assert "/?state=healthy&page=2" in first.links()
    second = site.get("/?state=healthy&page=2")
    assert names(second)[-1] == "db.n149"
    assert len(names(second)) == 50
    assert names(site.get("/?page=99")) == names(second), "the last page stands for those behind it"


@pytest.mark.parametrize("text", ["0", "-1", "x", "", "99999999999"])
def test_a_page_that_is_no_number_is_the_first(text: str) -> None:
    assert Choice.of({"page": text}).page == 1


def test_a_cursor_that_makes_no_sense_counts_as_none(site: Site, instance: dg.DagsterInstance) -> None:
    remembering(instance, RADAR, json.dumps({"tables": 1}))
    assert len(names(site.get("/"))) == 2


def test_a_table_that_cannot_be_read_is_first_and_hides_no_other(site: Site, keyed_table: CatalogTable) -> None:
    Path(keyed_table.paths.snapshot(5)).write_bytes(b"{")
    answer = site.get("/")
    assert names(answer) == ["db.t", "db.months"]
    assert "cannot be read" in line(answer, "db.t")
