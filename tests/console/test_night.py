"""The morning's page and `paimonctl report`: what was done, what failed, what is open, by one computation."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterEventType
from dagster._core.storage.dagster_run import DagsterRunStatus
from dagster._core.test_utils import create_run_for_test

from maintenance.cli.main import run
from maintenance.errors import OptionError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.history import FAILED, HistoryEntry, history_table, write_history
from maintenance.operations.report import lines_of, report
from maintenance.project.config import load_project
from maintenance.project.policies import Alerts
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.environment import FOLDER
from paimon_maintenance.console.fleet import lines_of as lines_on_page
from paimon_maintenance.console.lake import Lake
from paimon_maintenance.console.looks import Looks
from paimon_maintenance.console.night import night_view, span_of
from paimon_maintenance.definitions import build_definitions
from tests.browser.faulty_fleet import FAULTS, PROOF, Fleet
from tests.console_site import Site
from tests.dagster.conftest import state_of
from tests.tables import open_warehouse

NOW = datetime.now(UTC)
LOST = "dead0002-0000-4000-8000-000000000000"


@pytest.fixture
def past(site: Site, tmp_path: Path) -> Site:
    """A compaction, an expiry that freed something, a failure; and one of the day before."""
    found = "the disk is full\nNext step: Make room."
    entries = [
        HistoryEntry(
            NOW - timedelta(hours=2), "db.t", "compact", run_id="run00001", seconds=3.0, files_before=12,
            files_after=2, details={"reason": "sensor latest_snapshots", "proof": "rows are equal"},
        ),
        HistoryEntry(
            NOW - timedelta(hours=1), "db.t", "expire_snapshots", seconds=61.0, details={"deleted_bytes": 3 << 20}
        ),
        HistoryEntry(NOW - timedelta(hours=3), "db.months", "compact", FAILED, LOST, details={"found": found}),
        HistoryEntry(NOW - timedelta(hours=30), "db.t", "create_tag", details={"deleted_bytes": 1}),
    ]  # fmt: skip
    write_history(open_warehouse(tmp_path / "lake"), history_table("_maintenance"), entries)
    return site


def test_the_page_says_what_was_done_what_failed_and_what_is_open(past: Site) -> None:
    past.instance.add_instigator_state(state_of(keys.EXPIRY_SCHEDULE, 0.0))
    answer = past.get("/night?since=1+d")
    text = answer.text
    assert "3 operations on 2 tables, 1 failure, 3.0 MiB freed; 3 open problems now." in text
    assert "db.months compact" in text
    assert "the disk is full Next step: Make room." in text
    assert "sensor latest_snapshots 3.0 s 12 → 2" in text
    assert "rows are equal" in text
    assert "create tag" not in text
    assert "db.t team:sales no_bucket_overlap: two writers write the same buckets alternately" in text
    assert "Let one job write each partition" in text, "the next step"
    assert f"http://dagster.test/runs/{LOST}" in answer.links()


def test_any_span_can_be_asked_for(past: Site) -> None:
    assert "create tag" in past.get("/night?since=2+d").text
    since, until = NOW - timedelta(hours=40), NOW - timedelta(hours=20)
    text = past.get(f"/night?since={since:%Y-%m-%dT%H:%M}&until={until:%Y-%m-%dT%H:%M}").text
    assert "1 operation on 1 table, 0 failures, 1 byte freed" in text
    answer = past.get("/night?since=soon")
    assert answer.status == 500
    assert "'soon' is neither a duration nor a moment" in answer.text


def test_without_a_span_it_is_the_last_night() -> None:
    def of(hour: int) -> tuple[str, str]:
        begin, end = span_of({}, datetime(2026, 3, 4, hour, 30, tzinfo=UTC))
        return f"{begin:%d %H:%M}", f"{end:%d %H:%M}"

    assert of(7) == ("03 18:00", "04 07:30")
    assert of(9) == ("03 18:00", "04 09:30")
    assert of(22) == ("04 18:00", "04 22:30")


def test_a_span_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(OptionError, match="is not before"):
        span_of({"since": "2026-01-02T00:00", "until": "2026-01-01T00:00"}, NOW)


def test_a_run_that_died_before_it_wrote_history_is_told(tables_yaml: Path, past: Site) -> None:
    with dg.instance_for_test() as instance:
        create_run_for_test(
            instance, "expire_db_t", run_id="dead0000-0000-4000-8000-000000000000", status=DagsterRunStatus.FAILURE
        )
        create_run_for_test(
            instance,
            "compact_db_months",
            run_id=LOST,
            status=DagsterRunStatus.FAILURE,
        )
        text = Site(tables_yaml, instance).get("/night?since=1+d").text
    assert "Run of expire_db_t" in text
    assert "Run of compact_db_months" not in text, "the history tells of it"


def test_the_command_prints_the_same(past: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--warehouse", str(tmp_path / "lake"), "report", "--since", "1 d"]) == 1
    text = capsys.readouterr().out
    assert "3 operations on 2 tables, 1 failure, 3.0 MiB freed" in text
    assert "db.months: compact failed: the disk is full. Next step: Make room." in text
    assert "db.t: compact, 3.0 s, 12 → 2 files, sensor latest_snapshots, rows are equal" in text
    assert "db.t: no_bucket_overlap: two writers write the same buckets alternately" in text
    assert run(["--warehouse", str(tmp_path / "lake"), "report", "--json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert [each["operation"] for each in content["operations"]] == ["expire snapshots", "compact", "compact"]


def test_without_a_history_nothing_was_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = open_warehouse(tmp_path)
    found = report(catalog, history_table("_maintenance"), NOW - timedelta(days=1), NOW)
    assert found.summary == "Nothing was done; 0 open problems now."
    assert len(list(lines_of(found))) == 1
    assert run(["--warehouse", str(tmp_path), "report"]) == 0
    assert "Nothing was done" in capsys.readouterr().out
    assert run(["--warehouse", str(tmp_path), "report", "--since", "soon"]) == 2


def test_the_command_and_the_page_say_the_same_of_the_same_span(
    past: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--warehouse", str(tmp_path / "lake"), "--json", "report", "--since", "1 d"]) == 1
    told = json.loads(capsys.readouterr().out)
    page = past.get("/night?since=1+d").text
    done = told["summary"].partition(";")[0]
    assert done == "3 operations on 2 tables, 1 failure, 3.0 MiB freed"
    assert done in page
    for deed in told["operations"]:
        assert deed["operation"] in page
        assert deed["found"] in page
        assert deed["why"] in page
        assert deed["proof"] in page
    wrong = [each["problem"] for each in told["open"] if each["problem"].startswith("no_bucket_overlap")]
    assert wrong
    assert all(problem.partition(" (")[0] in page for problem in wrong)


def test_the_history_fits_into_a_hundred_columns(
    past: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert run(["--warehouse", str(tmp_path / "lake"), "history", "--since", "2 d"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    text = " ".join(" ".join(lines).split())
    assert "db.months: compact failed: the disk is full. Next step: Make room." in text
    assert "12 → 2 files" in text
    assert "3.0 MiB freed" in text
    assert f"{NOW - timedelta(hours=30):%Y-%m-%d %H:%M} db.t: create tag" in text
    assert run(["--warehouse", str(tmp_path / "lake"), "--json", "history", "db.months"]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (row["table"], row["found"]) == ("db.months", "the disk is full")


def without_ages(text: str) -> str:
    """The text without how many seconds ago something was."""
    return re.sub(r", [0-9.]+ s ago", "", text)


def test_the_page_the_daily_report_and_the_command_name_the_same_problems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = Fleet(tmp_path, "http://127.0.0.1:9/hook")
    fleet.build()
    assert compact(None, fleet.table(PROOF), full=True).failed
    capsys.readouterr()
    run(["--tables", str(fleet.yaml), "report", "--json"])
    told = json.loads(capsys.readouterr().out)["open"]
    printed = {(each["table"], without_ages(each["problem"])) for each in told}
    assert {(fault.table, fault.check) for fault in FAULTS} == {
        (table, text.partition(":")[0]) for table, text in printed
    }
    with dg.instance_for_test() as instance:
        # Without it Dagster also tells that nothing expires snapshots, which the command cannot know.
        instance.add_instigator_state(state_of(keys.EXPIRY_SCHEDULE, 0.0))
        lake = Lake(fleet.yaml, instance, seconds=0)
        known = lake.known()
        now = datetime.now(UTC)
        lines = lines_on_page(known, Looks(seconds=0, patience=60), now)
        page = night_view(known, instance, lines, {}, now).report.still_open
        assert {(each.table, without_ages(each.problem)) for each in page} == printed
        project = load_project(fleet.yaml, FOLDER).model_copy(update={"alerts": Alerts()})
        job = build_definitions(project).resolve_job_def(keys.NIGHT_REPORT)
        assert job.execute_in_process(instance=instance).success
        (event,) = instance.all_logs(instance.get_runs()[0].run_id, of_type=DagsterEventType.STEP_OUTPUT)
        output = event.get_dagster_event().step_output_data
        assert "; 10 open problems now." in str(output.metadata["summary"].value)
        sent = without_ages(str(output.metadata["report"].value))
        assert all(f"  {table}: {text}" in sent for table, text in printed)
