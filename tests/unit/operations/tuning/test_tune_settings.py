"""Settings that are set by themselves: what is chosen, watched, kept and taken back, and what a failure leaves."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import Catalog, SetOption, open_catalog
from maintenance.errors import OptionError, SchemaError
from maintenance.metastore.schema_change import ExpectOption
from maintenance.operations import tune_settings
from maintenance.operations.history import history_table, read_history
from maintenance.operations.operation import Run
from maintenance.operations.tuning import measured
from maintenance.operations.tuning import tune_settings as module_of_tuning
from maintenance.operations.tuning.measured import measure
from maintenance.operations.tuning.sure_settings import Choice
from tests.small_tables import batch, small_table, table_in

TRIGGER = "num-sorted-run.compaction-trigger"
INLINE = {"write-only": "false", "bucket": "1"}
DAY, WEEK = timedelta(days=1), timedelta(days=7, minutes=1)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of a few commits, whose writer compacts."""
    folder = tmp_path_factory.mktemp("lake")
    small_table(folder, {**INLINE, "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2000"})
    write(folder)
    return folder


@pytest.fixture(autouse=True)
def _few_commits_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "FEWEST_COMMITS", 8)


@pytest.fixture
def catalog(lake: Path, tmp_path: Path) -> Catalog:
    """That table, for one test."""
    shutil.copytree(lake, tmp_path, dirs_exist_ok=True)
    return open_catalog({"warehouse": str(tmp_path)})


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[Choice]:
    """What the simulations say is best; the last one, again and again."""
    choices = [Choice("it is said to be better", TRIGGER, "8")]
    monkeypatch.setattr(module_of_tuning, "choose", lambda *_: choices[-1])
    return choices


def write(folder: Path, commits: int = 8, rows: int = 50) -> None:
    table = table_in(folder)
    for number in range(commits):
        table.write_arrow(batch({number * 7 % 100 + i: f"{number}/{i}" for i in range(rows)}))


def now() -> datetime:
    return datetime.now(UTC)


def trigger(catalog: Catalog) -> str | None:
    return catalog.get_table("db.t").schema.options.get(TRIGGER)


def told(catalog: Catalog) -> list[dict[str, Any]]:
    """The steps in the history, the oldest first."""
    rows = read_history(catalog, history_table("_maintenance"), "db.t", "tune_settings")
    steps = ["applying", "watched", "taking back", "kept", "taken back", "ended"]
    details = [{**json.loads(row["details"]), "at": row["finished_at"]} for row in rows]
    return sorted(details, key=lambda each: (each["at"], steps.index(each["step"])))


def steps(catalog: Catalog) -> list[str]:
    return [each["step"] for each in told(catalog)]


def alter(catalog: Catalog, value: str) -> None:
    catalog.alter_table("db.t", [SetOption(TRIGGER, value)])


def test_a_change_that_is_measured_no_worse_is_kept(catalog: Catalog, tmp_path: Path, chosen: list[Choice]) -> None:
    chosen.append(Choice("it is said to be better", TRIGGER, "5"))
    begun = tune_settings(catalog, "db.t", now=now())
    assert (begun.step, trigger(catalog)) == ("watched", "5")
    write(tmp_path)
    assert tune_settings(catalog, "db.t", now=now() + DAY).step == "waits"
    assert tune_settings(catalog, "db.t", now=now() + WEEK).step == "kept"
    assert steps(catalog) == ["applying", "watched", "kept"]
    first = told(catalog)[0]
    assert first["options"]["snapshot.num-retained.max"] == "2000"
    assert (first["before"], first["reason"]) == (None, "it is said to be better")
    assert trigger(catalog) == "5"


def test_a_change_that_is_measured_worse_is_taken_back_and_not_made_again(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[Any] = []

    def choose(_: Any, __: Any, ___: Any, taken_back: Any, *____: Any) -> Choice:
        refused.append(list(taken_back))
        return Choice("it is said to be better", TRIGGER, "30") if not taken_back else Choice("nothing is better")

    monkeypatch.setattr(module_of_tuning, "choose", choose)
    tune_settings(catalog, "db.t", now=now())
    write(tmp_path)
    done = tune_settings(catalog, "db.t", now=now() + WEEK)
    assert done.step == "taken back"
    assert "sorted runs that a read merges" in done.reason
    assert trigger(catalog) is None
    assert steps(catalog) == ["applying", "watched", "taking back", "taken back"]
    assert tune_settings(catalog, "db.t", now=now() + DAY).step == "nothing"
    assert refused == [[], [(TRIGGER, "30")]]


def test_what_a_person_sets_meanwhile_stays_and_is_left_alone(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[Any] = []

    def choose(_: Any, __: Any, leave: Any, *___: Any) -> Choice:
        left.append(dict(leave))
        return Choice("it is said to be better", "" if leave else TRIGGER, "8")

    monkeypatch.setattr(module_of_tuning, "choose", choose)
    tune_settings(catalog, "db.t", now=now())
    alter(catalog, "6")
    write(tmp_path)
    done = tune_settings(catalog, "db.t", now=now() + DAY)
    assert (done.step, trigger(catalog)) == ("ended", "6")
    assert tune_settings(catalog, "db.t", now=now() + DAY).step == "nothing"
    assert list(left[-1]) == [TRIGGER]
    assert trigger(catalog) == "6"


@pytest.mark.parametrize("altered", [False, True])
def test_a_crash_around_the_change_is_made_good(
    catalog: Catalog, tmp_path: Path, chosen: list[Choice], monkeypatch: pytest.MonkeyPatch, altered: bool
) -> None:
    real = module_of_tuning._set

    def crash(*arguments: Any) -> None:
        if altered:
            real(*arguments)
        raise KeyboardInterrupt

    chosen.append(Choice("it is said to be better", TRIGGER, "30"))
    with monkeypatch.context() as patch:
        patch.setattr(module_of_tuning, "_set", crash)
        with pytest.raises(KeyboardInterrupt):
            tune_settings(catalog, "db.t", now=now())
    assert steps(catalog) == ["applying"]
    again = tune_settings(catalog, "db.t", now=now())
    assert (again.step, trigger(catalog)) == ("watched", "30")
    assert len(catalog.get_table("db.t").schemas.list_ids()) == 2
    write(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(module_of_tuning, "_set", crash)
        with pytest.raises(KeyboardInterrupt):
            tune_settings(catalog, "db.t", now=now() + WEEK)
    assert trigger(catalog) == (None if altered else "30")
    assert tune_settings(catalog, "db.t", now=now() + WEEK).step == "taken back"
    assert trigger(catalog) is None
    assert len(catalog.get_table("db.t").schemas.list_ids()) == 3
    assert steps(catalog) == ["applying", "watched", "taking back", "taken back"]


def test_a_person_who_took_it_back_after_a_crash_has_the_last_word(
    catalog: Catalog, chosen: list[Choice], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module_of_tuning._set
    alter(catalog, "5")

    def crash(*arguments: Any) -> None:
        real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module_of_tuning, "_set", crash)
        with pytest.raises(KeyboardInterrupt):
            tune_settings(catalog, "db.t", now=now())
    alter(catalog, "5")
    assert tune_settings(catalog, "db.t", now=now()).step == "ended"
    assert trigger(catalog) == "5"


def test_a_person_who_is_faster_than_the_change_has_the_last_word(
    catalog: Catalog, chosen: list[Choice], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module_of_tuning._set

    def late(*arguments: Any) -> None:
        alter(catalog, "6")
        real(*arguments)

    monkeypatch.setattr(module_of_tuning, "_set", late)
    assert tune_settings(catalog, "db.t", now=now()).step == "ended"
    assert trigger(catalog) == "6"
    assert steps(catalog) == ["applying", "ended"]


def test_of_two_changes_begun_at_once_one_is_made(catalog: Catalog, chosen: list[Choice]) -> None:
    request = module_of_tuning.TuneSettings("db.t")
    operation = module_of_tuning.OPERATION
    moment = now()
    runs = [Run(now=moment + timedelta(seconds=each)) for each in (0, 1)]
    plans = [operation.plan(run, catalog, request) for run in runs]
    done = [operation.apply(run, catalog, made) for run, made in zip(runs, plans, strict=True)]
    assert [each.step for each in done] == ["watched", "ended"]
    assert tune_settings(catalog, "db.t", now=moment + DAY).step == "waits"


def test_what_cannot_be_judged_is_taken_back_in_the_end(catalog: Catalog, chosen: list[Choice]) -> None:
    tune_settings(catalog, "db.t", now=now())
    assert tune_settings(catalog, "db.t", now=now() + WEEK).step == "waits"
    assert trigger(catalog) == "8"
    done = tune_settings(catalog, "db.t", now=now() + timedelta(days=29))
    assert (done.step, trigger(catalog)) == ("taken back", None)


def test_commits_of_another_size_do_not_judge(catalog: Catalog, tmp_path: Path, chosen: list[Choice]) -> None:
    tune_settings(catalog, "db.t", now=now())
    write(tmp_path, rows=1000)
    waits = tune_settings(catalog, "db.t", now=now() + WEEK)
    assert (waits.step, "another size" in waits.reason) == ("waits", True)


def test_a_dry_run_says_what_would_be_set(catalog: Catalog, chosen: list[Choice]) -> None:
    report = tune_settings(catalog, "db.t", dry_run=True)
    assert (report.step, report.change) == ("applying", f"'{TRIGGER}' from unset to '8'")
    assert (trigger(catalog), told(catalog)) == (None, [])


def test_a_table_with_few_commits_is_left_alone(tmp_path: Path, chosen: list[Choice]) -> None:
    small_table(tmp_path, INLINE)
    write(tmp_path, commits=3)
    report = tune_settings(open_catalog({"warehouse": str(tmp_path)}), "db.t")
    assert (report.step, "3 commits" in report.reason) == ("nothing", True)


def test_retention_is_tuned_within_its_bounds_alone(catalog: Catalog) -> None:
    kept = "snapshot.num-retained.max"
    assert kept not in tune_settings(catalog, "db.t", {TRIGGER: ["5", "5"]}, dry_run=True).change
    bounds = {kept: ["2", "2000"], TRIGGER: ["5", "5"]}
    report = tune_settings(catalog, "db.t", bounds)
    assert report.change == f"'{kept}' from '2000' to '2'"
    assert catalog.get_table("db.t").schema.options[kept] == "2"


@pytest.mark.parametrize(
    ("bounds", "problem"),
    [
        ({"bucket": ["1", "2"]}, "is not set by tuning"),
        ({TRIGGER: ["8", "3"]}, "is more than the most"),
        ({TRIGGER: ["8"]}, "the least and the most"),
        ({TRIGGER: ["few", "8"]}, "expected"),
    ],
)
def test_bounds_that_are_none_are_refused(catalog: Catalog, bounds: dict[str, list[str]], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        tune_settings(catalog, "db.t", bounds)


def test_an_option_that_is_expected_otherwise_refuses_the_other_changes(catalog: Catalog) -> None:
    with pytest.raises(SchemaError, match="is unset, and not '5'"):
        catalog.alter_table("db.t", [SetOption("num-levels", "4"), ExpectOption(TRIGGER, "5")])
    assert "num-levels" not in catalog.get_table("db.t").schema.options


def test_what_is_measured_is_what_the_files_say(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**INLINE, TRIGGER: "3"})
    write(tmp_path, commits=6)
    found = measure(table, [])
    assert found is not None
    snapshots = [table.snapshots.get(number) for number in table.snapshots.list_ids()]
    written = {"APPEND": 0, "COMPACT": 0}
    for snapshot in snapshots:
        added = [e for e in table.manifests.delta_entries(snapshot) if e.kind.name == "ADD"]
        written[snapshot.commit_kind.value] += sum(entry.file.file_size for entry in added)
    assert found.commits == 6
    assert found.rows == 300
    assert found.bytes == written["APPEND"]
    assert found.write_amplification == pytest.approx(1 + written["COMPACT"] / written["APPEND"], abs=0.001)
    # Merged at the third and the fifth commit: 1, 2, 1, 2, 1, 2 runs.
    assert found.runs == 1.5
