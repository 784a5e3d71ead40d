"""What can be freed is one figure: on the page of all tables, on a table's page, in its check and for paimonctl."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from maintenance.amounts import size_text
from maintenance.catalog import CatalogTable
from maintenance.cli.main import run
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.project.config import load_project
from paimon_maintenance.assets.checks.due import Automation
from paimon_maintenance.assets.checks.expiring import EXPIRY_DUE
from paimon_maintenance.assets.checks.judging import look_at
from paimon_maintenance.assets.project.environment import FOLDER
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions
from tests.console.test_fleet import line
from tests.console_site import Site
from tests.dagster.conftest import evaluate
from tests.dagster.test_radar import reported

OLD_SNAPSHOTS = "old snapshots"


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    """One in which no other test has switched anything on."""
    with dg.instance_for_test() as instance:
        yield instance


@pytest.fixture
def all_can_go(site: Site) -> Site:
    """Nothing but the settings of the file keeps a snapshot of db.t."""
    text = site.path.read_text()
    site.path.write_text(text.replace("{keep_at_most: 4}", "{keep_at_most: 4, time_retained: 0 s}"))
    return site


def by_the_command(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The bytes that paimonctl says the next expiry frees, and the settings that it names."""
    assert run(["--tables", str(path), "--json", "forecast", "db.t"]) == 0
    said = capsys.readouterr()
    rows = [json.loads(each) for each in said.out.splitlines()]
    (size,) = [row["bytes"] for row in rows if row["source"] == OLD_SNAPSHOTS]
    return size, said.err


def by_the_check(path: Path) -> tuple[int, str]:
    project = load_project(path, FOLDER).with_patterns(["db.t"])
    (config,) = [table for table in project.tables if table.identifier == "db.t"]
    catalog = PaimonCatalog(warehouse=project.warehouse)
    found = look_at(catalog, config, datetime.now(UTC), automation=Automation())
    (judgement,) = [each for each in found if each.check == EXPIRY_DUE]
    size = judgement.details["bytes that the next expiry frees"]
    assert isinstance(size, int)
    return size, judgement.summary


def test_all_say_the_same_and_the_expiry_frees_it(
    all_can_go: Site, keyed_table: CatalogTable, capsys: pytest.CaptureFixture[str]
) -> None:
    size, command = by_the_command(all_can_go.path, capsys)
    assert size > 0
    checked, check = by_the_check(all_can_go.path)
    assert checked == size
    assert f"old snapshots {size_text(size)}" in all_can_go.get("/").html
    assert size_text(size) in line(all_can_go.get("/"), "db.t")
    page = all_can_go.get("/tables/db.t").section("freeable")
    assert f"{size_text(size)} the next expiry retention.keep_at_least = 2 (tables.yaml, line 6)" in page
    for text in (command, check, page):
        assert "retention.keep_at_most = 4 (tables.yaml, line 13)" in text
        assert "retention.time_retained = 0 s (tables.yaml, line 13)" in text
    done = expire_snapshots(keyed_table, retain_max=4, retain_min=2, older_than=datetime.now(UTC))
    assert done.deleted_bytes == size


def test_a_changed_setting_is_followed_by_all_without_a_reload(
    all_can_go: Site, instance: dg.DagsterInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    project = load_project(all_can_go.path, FOLDER)
    loaded = build_definitions(project)
    tick = evaluate(project, instance, "check_radar", definitions=loaded)
    before = reported(tick, "db.t")[EXPIRY_DUE]
    assert not before.passed
    assert "retention.keep_at_most = 4" in str(before.description)
    text = all_can_go.path.read_text()
    all_can_go.path.write_text(
        text.replace("keep_at_least: 2", "keep_at_least: 5").replace("keep_at_most: 4", "keep_at_most: 9")
    )
    assert by_the_command(all_can_go.path, capsys)[0] == by_the_check(all_can_go.path)[0] == 0
    after = reported(evaluate(project, instance, "check_radar", tick.cursor, loaded), "db.t")[EXPIRY_DUE]
    assert after.passed
    assert "retention.keep_at_least = 5 (tables.yaml, line 6)" in str(after.description)
    page = all_can_go.get("/tables/db.t").section("freeable")
    assert "0 bytes the next expiry retention.keep_at_least = 5 (tables.yaml, line 6)" in page
