"""The page of a table: pictures of what is there, who writes, what was done, and where each setting comes from."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import dagster as dg
import yaml

from maintenance.catalog import CatalogTable
from maintenance.metastore.schema_change import AddColumn, SetOption
from maintenance.monitor.score import health_record
from maintenance.operations.compaction.compact import compact
from maintenance.operations.history import FAILED, HistoryEntry, history_table, write_history
from maintenance.operations.retention.what_if import what_if
from maintenance.operations.rows.drop_partitions import drop_partitions
from maintenance.operations.rows.restorable_partitions import restorable_partitions
from maintenance.project.config import load_project
from paimon_maintenance.assets.checks.health_past import remember
from paimon_maintenance.assets.project.environment import FOLDER
from paimon_maintenance.console.links import Links
from paimon_maintenance.definitions import build_definitions
from tests.console_site import Site
from tests.tables import create_table, get_table, keyed, open_warehouse


def test_the_tree_has_a_column_for_each_bucket_and_a_box_for_each_file(site: Site, keyed_table: CatalogTable) -> None:
    before = site.get("/tables/db.t")
    assert before.html.count('class="box-level0"') == 5
    assert 'class="box-level"' not in before.html
    assert "5 runs" in before.section("tree")
    compact(None, keyed_table, full=True)
    after = site.get("/tables/db.t")
    assert 'class="box-level0"' not in after.html
    assert after.html.count('class="box-level"') == 1
    assert "level 5" in after.section("tree")
    assert "bucket 0 1 1" in after.section("tree"), "one sorted run of one file"


def test_the_page_leads_with_health_and_what_comes_next(
    site: Site, keyed_table: CatalogTable, instance: dg.DagsterInstance
) -> None:
    first = site.get("/tables/db.t")
    assert "sorted runs 5 sorted runs 3 sorted runs over target 60 15" in first.section("health")
    assert re.search(
        r"Health \d+ of 100 \d checks? fails? Next: needs attention Why: a compaction is due: a bucket has 5",
        first.text,
    )
    assert first.text.index("Health ") < first.text.index("before merging") < first.text.index("LSM tree")
    links = first.links()
    assert "http://dagster.test/guess/compact_db_t" in links
    assert re.search('href="[^"]*compact_db_t"[^>]*>Compact now<', first.html)
    assert "<svg" not in first.html[first.html.index('id="health"') : first.html.index('id="checks"')], "no past yet"
    now = datetime.now(UTC)
    known = health_record(keyed_table, now)
    for hours in range(9, 0, -1):
        values = {part.name: part.value / (1 + hours) for part in known.parts}
        at = replace(known, at=now - timedelta(hours=hours))
        parts = tuple(replace(part, value=values[part.name]) for part in known.parts)
        remember(instance, {"db.t": replace(at, parts=parts)})
    second = site.get("/tables/db.t")
    assert "level0 files in 7 days: 0 files to" in second.section("health")
    assert re.search(r"At this rate the table reaches .* on \d+ \w+ \d{4} ?\.", second.section("health"))
    assert re.search(r"db\.t unhealthy|db\.t compaction due \d+", site.get("/").text)


def test_partitions_are_as_hot_as_their_worst_bucket(site: Site) -> None:
    answer = site.get("/tables/db.months")
    text = answer.section("partitions")
    assert "1 partition is due for compaction: a bucket is due from 3 small files on" in text
    assert "month=2: 4 of 3 small files in its worst bucket" in text
    assert "month=1: 1 of 3 small files in its worst bucket" in text
    assert len(re.findall(r'<rect class="heat-4"', answer.html)) == 1
    assert len(re.findall(r'<rect class="heat-0"', answer.html)) == 1
    assert 'id="partitions"' not in site.get("/tables/db.t").html, "it has none"


def test_dropped_partitions_lead_to_the_job_that_restores_them(site: Site, tmp_path: Path) -> None:
    assert 'id="dropped"' not in site.get("/tables/db.months").html
    table = get_table(tmp_path / "lake", "db.months")
    held = table.latest_snapshot()
    assert held is not None
    drop_partitions(table, [{"month": "1"}])
    answer = site.get("/tables/db.months")
    assert f"month=1 snapshot {held.id} 1" in answer.section("dropped")
    (link,) = [link for link in answer.links() if "restore_partitions" in link]
    assert link == "http://dagster.test/guess/restore_partitions"
    place = Links("http://dagster.test", "own").restore("db.months", restorable_partitions(table).partitions[0])
    config = yaml.safe_load(unquote(place.partition("config=")[2]))["ops"]["earlier_partitions"]["config"]
    assert config == {
        "table": "db.months", "partitions": [{"month": "1"}], "snapshot_id": held.id, "dry_run": True,
    }  # fmt: skip


def test_the_timeline_says_who_committed_what_keeps_it_and_what_goes(site: Site) -> None:
    text = site.get("/tables/db.t").section("snapshots")
    assert "The next expiry deletes 1 snapshot" in text
    assert "till (the tills of the shops): 4 snapshots" in text
    assert "loader: 1 snapshot" in text
    assert "tag kept at snapshot 2" in text
    assert "consumer feed has yet to read snapshot 4" in text
    assert "snapshot 1, APPEND by till" in text
    assert "kept by nothing; the next expiry deletes it" in text


def test_checks_that_fail_come_with_their_next_step_and_a_link(site: Site) -> None:
    answer = site.get("/tables/db.t")
    assert "Let one job write each partition" in answer.section("checks")
    assert "http://dagster.test/assets/db/t?view=checks&checkDetail=no_bucket_overlap" in answer.links()
    assert "http://dagster.test/guess/compact_db_t" in answer.links()


def test_settings_name_the_line_that_they_are_set_on(site: Site, tables_yaml: Path) -> None:
    text = site.get("/tables/db.t").section("settings")
    lines = tables_yaml.read_text().splitlines()
    for setting, value, said in (
        ("retention.keep_at_most", "4", "keep_at_most: 4"),
        ("retention.keep_at_least", "2", "keep_at_least: 2"),
        ("compaction.trigger", "3", "trigger: 3"),
        ("owners", "team:sales", "team:sales"),
    ):
        (line,) = [number for number, text_ in enumerate(lines, 1) if said in text_]
        assert f"{setting} {value} tables.yaml, line {line}" in text


def test_bytes_are_drawn_by_holder(site: Site, keyed_table: CatalogTable) -> None:
    compact(None, keyed_table, full=True)
    answer = site.get("/tables/db.t")
    assert re.search(r'<rect class="part-snapshots".*?<title>older snapshots: ', answer.html)
    assert "live data 1" in answer.section("bytes")


def test_history_says_what_was_done_why_and_what_failed(site: Site, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    done = HistoryEntry(
        now, "db.t", "compact", run_id="82242f5b-1", seconds=3.25, files_before=12, files_after=2,
        bytes_before=2048, bytes_after=1024,
        details={"reason": "a bucket has 5 sorted runs", "proof": "rows are equal"},
    )  # fmt: skip
    failed = HistoryEntry(now, "db.t", "expire_snapshots", FAILED, details={"found": "the disk is full"})
    write_history(open_warehouse(tmp_path / "lake"), history_table("_maintenance"), [done, failed])
    answer = site.get("/tables/db.t")
    text = answer.section("history")
    assert "a bucket has 5 sorted runs 3.2 s 12 → 2 2.0 KiB → 1.0 KiB" in text
    assert "rows are equal" in text
    assert "expire snapshots failed: the disk is full" in text
    assert "http://dagster.test/runs/82242f5b-1" in answer.links()
    assert 'title="2,048 bytes"' in answer.html


def test_versions_of_the_schema_say_what_they_changed(site: Site, tmp_path: Path) -> None:
    catalog = open_warehouse(tmp_path / "lake")
    catalog.alter_table("db.t", [AddColumn("price", "DECIMAL(9, 2)")])
    catalog.alter_table("db.t", [SetOption("snapshot.time-retained", "2 d")])
    text = site.get("/tables/db.t").section("schema")
    assert "the table was created with 2 columns, primary key id" in text
    assert "column price DECIMAL(9, 2) was added" in text
    assert "option snapshot.time-retained was set to 2 d" in text


def test_another_retention_is_tried_with_the_figures_of_what_if(
    site: Site, keyed_table: CatalogTable, tmp_path: Path
) -> None:
    compact(None, keyed_table, full=True)
    answer = site.get("/tables/db.t?keep_at_least=1&keep_at_most=1&without_tags=kept&without_consumers=feed")
    options = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
    table = get_table(tmp_path / "lake")
    loss = what_if(table, options, without_tags=["kept"], without_consumers=["feed"]).losses[0]
    assert loss.files > 5, "data files and what names them"
    assert f"{len(loss.snapshots)} snapshots, 1 tag, {loss.files} files" in answer.section("retention")
    assert 'name="keep_at_most" inputmode="numeric" value="1"' in answer.html


def test_a_value_that_is_none_is_told_and_hides_nothing_else(site: Site) -> None:
    answer = site.get("/tables/db.t?time_retained=soon")
    assert answer.status == 200
    assert "What other retention would delete could not be read" in answer.text
    assert "soon" in answer.text
    assert answer.section("tree")
    assert "consumer 'nobody' does not exist" in site.get("/tables/db.t?without_consumers=nobody").text


def test_a_damaged_table_shows_what_can_be_read(site: Site, keyed_table: CatalogTable) -> None:
    Path(keyed_table.paths.snapshot(5)).write_bytes(b"{")
    answer = site.get("/tables/db.t")
    assert answer.status == 200
    assert "db.t cannot be read" in answer.text
    assert "Next: needs attention" in answer.text
    assert "readable" in answer.section("checks")
    assert "retention.keep_at_most" in answer.section("settings")
    assert 'id="tree"' not in answer.html


def test_a_table_without_commits_is_shown(site: Site, tmp_path: Path) -> None:
    create_table(tmp_path / "lake", name="db.empty")
    answer = site.get("/tables/db.empty")
    assert answer.status == 200
    assert "Every check passes" in answer.text
    assert 'id="tree"' not in answer.html


def test_hostile_values_stay_text(site: Site, keyed_table: CatalogTable) -> None:
    keyed_table.write_arrow(keyed({1: "x"}), commit_user="<script>alert(1)</script>", commit_identifier=1)
    answer = site.get("/tables/db.t")
    assert "<script>" not in answer.html
    assert "<script>alert(1)</script>" in answer.text


def test_the_links_to_jobs_that_run_over_any_table_are_filled_in_as_the_jobs_take_it(
    site: Site, tables_yaml: Path
) -> None:
    project = load_project(tables_yaml, FOLDER)
    definitions = build_definitions(project)
    links = Links("http://dagster.test", "own")
    steps = {
        "rollback": "It can be rolled back by the job rollback, with snapshot_id: 3, of the state before.",
        "compact_db_t": "Switch the sensor latest_snapshots on, or launch the job compact_db_t.",
    }
    named = {job: links.next_step("db.t", "readable", text) for job, text in steps.items()}
    assert named["compact_db_t"].count("<a ") == 2, "the sensor and the job"
    assert "<a " not in links.next_step("db.t", "freshness", "Look at the job that writes the table.")
    places = {
        "rollback": unescape(named["rollback"].partition('href="')[2].partition('"')[0]),
        "create_tag": links.launched("create_tag", "db.t", ", name: snapshot-3, snapshot_id: 3"),
        "statement": links.release("db.t", "tag kept"),
        "reset_consumer": links.release("db.t", "consumer feed"),
    }
    for job, place in places.items():
        path, _, config = place.partition("/setup?config=")
        assert path == f"http://dagster.test/locations/own/jobs/{job}/playground"
        given = yaml.safe_load(unquote(config))
        assert dg.validate_run_config(definitions.resolve_job_def(job), given)
        (said,) = given["ops"].values()
        assert said["config"]["dry_run"]
        assert "db.t" in said["config"].get("table", said["config"].get("statement"))
    quoted = unquote(links.release("db.t", "tag a'b: c").partition("config=")[2])
    assert yaml.safe_load(quoted)["ops"]["planned_statement"]["config"]["statement"].endswith("tag => 'a''b: c')")
    config = yaml.safe_load(unquote(places["statement"].partition("config=")[2]))
    assert (
        definitions.resolve_job_def("statement").execute_in_process(run_config=config, instance=site.instance).success
    )
    assert links.release("db.t", "live data") == ""
    found = site.get("/tables/db.t").links()
    for job in ("rollback", "create_tag", "statement", "reset_consumer"):
        assert f"http://dagster.test/guess/{job}" in found
