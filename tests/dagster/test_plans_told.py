"""A command, its plan applied by `paimonctl apply`, and the same plan applied in Dagster: all say the same."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from maintenance.amounts import size_text
from maintenance.cli.main import Target, run
from maintenance.project.config import TableConfig
from maintenance.sql import Result, Session
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.steps.apply_plan import apply_plan_op
from paimon_maintenance.assets.steps.ops import job_of_op
from tests.planned_work import SCRIPT, WORK, arguments_of, prepare

# Names and times that are others each time.
_VARIES = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27,}|[0-9a-f]{16}|[0-9]{8}T[0-9]+[^ ]*|[0-9.,]+ (s|bytes|[KM]iB)\b")


def alike(text: str, warehouse: str) -> str:
    return _VARIES.sub("~", text.replace(warehouse, "~"))


@pytest.fixture
def copies(tmp_path: Path) -> Callable[[str], list[str]]:
    def prepared(command: str) -> list[str]:
        first = tmp_path / "0" / "lake"
        first.mkdir(parents=True)
        list(Session({"warehouse": str(first)}).execute(SCRIPT))
        prepare(str(first), command)
        for other in ("1", "2"):
            shutil.copytree(first, tmp_path / other / "lake")
        return [str(tmp_path / each / "lake") for each in "012"]

    return prepared


@pytest.mark.parametrize("command", WORK)
def test_a_plan_tells_the_same_wherever_it_is_applied(
    command: str,
    copies: Callable[[str], list[str]],
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    results: list[Result] = []
    print_result = Target.report

    def noted(target: Target, result: Result) -> int:
        results.append(result)
        return print_result(target, result)

    monkeypatch.setattr(Target, "report", noted)
    at_once, by_paimonctl, by_dagster = copies(command)

    def printed(warehouse: str, *arguments: str) -> str:
        capsys.readouterr()
        assert run(["--warehouse", warehouse, *arguments]) == 0, capsys.readouterr().err
        return capsys.readouterr().out.strip()

    def plan(warehouse: str) -> str:
        return printed(warehouse, command, *arguments_of(warehouse, command), "--plan")

    done = printed(at_once, command, *arguments_of(at_once, command))
    assert alike(printed(by_paimonctl, "apply", plan(by_paimonctl)), by_paimonctl) == alike(done, at_once)
    said = [alike("\n".join(result.said), at_once) for result in results]
    assert said[0] == said[1]
    shown = applied(by_dagster, plan(by_dagster), instance)
    assert alike(shown.get("what happened", ""), by_dagster) == said[0]
    numbers = [value for row in results[1].rows.to_pylist() for value in row.values() if type(value) is int]
    text = str(shown)
    assert [value for value in numbers if str(value) not in text and size_text(value) not in text] == []


def applied(warehouse: str, plan: str, instance: dg.DagsterInstance) -> dict[str, Any]:
    """The metadata of the step that applies a plan."""
    feed = {"path": f"{warehouse}/landing", "commit_user": "feed", "format": "json"}
    tables = [TableConfig(identifier=f"default.{name}") for name in "acgikm"]
    job = job_of_op(
        "apply_plan",
        apply_plan_op([*tables, TableConfig(identifier="default.t", landing=feed)]),
    )
    result = job.execute_in_process(
        run_config={"ops": {"plan": {"config": {"plan_id": plan}}}},
        resources={"catalog": PaimonCatalog(warehouse=warehouse), "spark": Spark(engine="embedded")},
        instance=instance,
    )
    (event,) = [event for event in result.all_events if event.event_type_value == "STEP_OUTPUT"]
    return {label: each.value for label, each in event.event_specific_data.metadata.items()}  # type: ignore[union-attr]
