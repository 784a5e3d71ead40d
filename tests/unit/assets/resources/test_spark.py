"""The Spark resource: whose settings a run gets, and which mistakes in them are told."""

import socket
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from maintenance.errors import InfrastructureError, OptionError
from maintenance.project.config import SPARK_ACTIONS, load_project
from maintenance.spark.engine import Engine, EngineKind
from maintenance.spark.server_process import ConnectServer
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.spark import Spark, of_run, spark_of
from paimon_maintenance.definitions import build_definitions
from tests.unit.test_layers import ROOT

TABLES = """\
warehouse: lake
spark:
  options: {spark.driver.memory: 1g, spark.a: all, spark.b: all, spark.c: all, spark.d: all}
  jobs:
    compact: {spark.b: job, spark.c: job, spark.d: job}
patterns:
  - pattern: db.*
    spark_options: {spark.c: table, spark.d: table}
tables:
  - {identifier: db.t, columns: {id: INT, day: DATE}, partition_keys: [day]}
"""


def resource(folder: Path) -> Spark:
    path = folder / "tables.yaml"
    path.write_text(TABLES)
    return spark_of(load_project(path, folder).with_patterns([]))


def in_run(spark: Spark, run: dg.DagsterRun) -> Spark:
    spark._run = run
    return spark


def test_each_level_goes_over_the_one_before(tmp_path: Path) -> None:
    spark = resource(tmp_path).model_copy(update={"run_options": {"spark.d": "run"}})
    run = dg.DagsterRun("compact_db_t", tags={"paimon/action": "compact", "paimon/table": "db.t"})
    actual = in_run(spark, run).settings()
    assert [actual[f"spark.{name}"] for name in "abcd"] == ["all", "job", "table", "run"]
    other = dg.DagsterRun("maintain_db_u", tags={"paimon/action": "maintain", "paimon/table": "db.u"})
    assert in_run(resource(tmp_path), other).settings()["spark.b"] == "all"
    assert resource(tmp_path).settings()["spark.c"] == "all", "outside a run"


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        ({keys.asset_key("db.t")}, ("maintain", "db.t")),
        ({keys.compaction("db.t")}, ("compact", "db.t")),
        ({keys.changelog("db.t")}, ("compact", "db.t")),
        ({keys.asset_key("db.t"), keys.asset_key("db.u")}, ("maintain", None)),
        ({keys.compaction("db.t"), keys.compaction("db.u")}, ("compact", None)),
    ],
)
def test_a_run_from_an_assets_page_counts_as_a_job(
    selected: set[dg.AssetKey], expected: tuple[str | None, str | None]
) -> None:
    assert of_run(dg.DagsterRun("__ASSET_JOB", asset_selection=frozenset(selected))) == expected


def test_the_jobs_that_can_be_set_are_those_that_use_spark(tmp_path: Path) -> None:
    path = tmp_path / "tables.yaml"
    path.write_text(TABLES.replace("columns: {id: INT, day: DATE}",
                                   "options: {changelog-producer: lookup}, columns: {id: INT, day: DATE}, "
                                   "landing: {path: landing, commit_user: feed}, "
                                   "tag: {name: 'day-{date}', cron: 0 0 * * *, since: 2026-01-01}"))  # fmt: skip
    definitions = build_definitions(load_project(path, tmp_path))
    using = set()
    for job in definitions.resolve_all_job_defs():
        if "paimon/action" in job.run_tags and "spark" in job.get_required_resource_defs():
            using.add(job.run_tags["paimon/action"])
    # No table here is materialized; tests/dagster/test_materialized.py runs the job of one.
    assert using - {keys.APPLY_PLAN} == set(SPARK_ACTIONS) - {keys.REFRESH}


def test_a_run_that_applies_a_plan_has_the_options_of_its_table(tmp_path: Path) -> None:
    spark = in_run(resource(tmp_path), dg.DagsterRun("apply_plan", tags={"paimon/action": keys.APPLY_PLAN}))
    assert spark.settings()["spark.c"] == "all", "the plan is not known yet"
    spark.serve("compact", "db.t")
    assert [spark.settings()[f"spark.{name}"] for name in "abc"] == ["all", "job", "table"]


def test_an_unknown_job_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "tables.yaml"
    path.write_text(TABLES.replace("compact: {spark.b", "compaction: {spark.b"))
    with pytest.raises(
        OptionError, match=r"no job 'compaction' uses Spark; name one of maintain, ingest, refresh, compact,"
    ):
        load_project(path, tmp_path)
    with pytest.raises(OptionError, match="no job 'rollback' uses Spark"):
        Spark(jobs={"rollback": {}}).settings()


def test_a_server_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match=r"no Spark Connect server answers \(sc://127.0.0.1:1\)"):
        Spark(remote="sc://127.0.0.1:1/;token=secret").session()


def test_runs_share_the_server_of_their_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under `make ui`."""
    opened: list[Engine] = []
    monkeypatch.setattr(
        "paimon_maintenance.assets.resources.spark._session_of", lambda engine, _: opened.append(engine)
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        remote = f"sc://localhost:{listening.getsockname()[1]}/;token=secret"
        for name, value in ConnectServer(remote, {"spark.a": "1"}).environment().items():
            monkeypatch.setenv(name, value)
        Spark(engine="spark", options={"spark.a": "1"})._shared(Engine(EngineKind.SPARK))
        Spark(engine="spark", options={"spark.a": "2"})._shared(Engine(EngineKind.SPARK))
    (shared,) = opened
    assert shared.kind is EngineKind.CONNECT
    assert shared.address is not None
    assert shared.address.startswith(f"{remote};session_id=")


IN_A_THREAD = """
from threading import Thread
from paimon_maintenance.assets.resources.spark import _session_of
from maintenance.spark.engine import Engine
from maintenance.spark.session import get_session

ENGINE = Engine.parse("local[1]", "test")
_session_of(ENGINE, {"spark.sql.shuffle.partitions": "2"}).stop()
others = get_session(master="local[1]")
counts = []
asking = lambda: counts.append(_session_of(ENGINE, {"spark.sql.shuffle.partitions": "3"}).range(3).count())
thread = Thread(target=asking)
thread.start()
thread.join()
assert counts == [3] and others.range(2).count() == 2
"""


def test_a_session_that_somebody_stopped_does_not_take_the_next_one_along() -> None:
    """In a process of its own, whose Spark nobody else uses."""
    done = subprocess.run([sys.executable, "-c", IN_A_THREAD], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
