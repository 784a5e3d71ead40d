"""The sensor on real tables: when it asks for compaction, when it is silent, and what it does with broken hints."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from dagster._core.scheduler.instigation import SensorInstigatorData

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.operations.compaction.compact import compact
from maintenance.project.config import Project, load_project
from maintenance.project.policies import CompactionPolicy
from maintenance.types.arrow import arrow_type
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.scope import tables_of
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.pauses import pausing
from paimon_maintenance.assets.steps import any_table
from paimon_maintenance.definitions import build_definitions
from paimon_maintenance.sensors import latest
from paimon_maintenance.sensors.cursor import Cursor, Trouble
from paimon_maintenance.sensors.latest import NewestState, cursor_of, due, in_progress
from tests.dagster.conftest import checks_of, definitions_of, evaluate, switch_on
from tests.foreign_commits import foreign_compaction, foreign_write, store
from tests.tables import create_table, live


@pytest.fixture
def catalog(project: Project) -> PaimonCatalog:
    catalog = PaimonCatalog(warehouse=project.warehouse)
    for table in project.tables:
        catalog.get_or_create(table)
    return catalog


def commit_orders(catalog: PaimonCatalog, times: int) -> CatalogTable:
    table = catalog.get_table("shop.orders")
    for _ in range(times):
        table.write_arrow(pa.table({"id": pa.array([1, 2], pa.int64()), "status": ["a", "b"]}))
    return table


def identity(table: CatalogTable) -> str:
    return str(table.snapshots.latest_identity())


def tick(project: Project, instance: dg.DagsterInstance, cursor: str | None = None) -> Any:
    """One evaluation of the sensor, as the daemon does it."""
    definitions = build_definitions(project)
    resources = {"catalog": PaimonCatalog(warehouse=project.warehouse)}
    with dg.build_sensor_context(instance, cursor, definitions=definitions, resources=resources) as context:
        return definitions.resolve_sensor_def("latest_snapshots").evaluate_tick(context)


def test_it_is_silent_about_tables_that_do_not_exist(project: Project, instance: dg.DagsterInstance) -> None:
    data = tick(project, instance)
    assert not data.run_requests
    assert data.skip_message == "No table has a new snapshot."


def test_it_requests_compaction_once_for_a_snapshot(
    project: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    orders = commit_orders(catalog, 3)
    data = tick(project, instance)
    (request,) = data.run_requests
    assert request.job_name == "compact_shop_orders"
    assert request.run_key.startswith("shop.orders@3@")
    assert cursor_of(data.cursor).tables == {"shop.orders": identity(orders)}
    assert not tick(project, instance, data.cursor).run_requests


def test_it_is_silent_while_a_table_needs_nothing(
    project: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    orders = commit_orders(catalog, 2)
    data = tick(project, instance)
    assert not data.run_requests
    assert data.skip_message == "shop.orders: a bucket has 2 sorted runs, the trigger is 3"
    assert cursor_of(data.cursor).tables == {"shop.orders": identity(orders)}


@pytest.mark.parametrize("status", [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.SUCCESS])
@pytest.mark.parametrize("job", ["maintain_shop_orders", "compact_shop_orders"])
def test_it_waits_while_a_run_is_at_work_on_the_table(
    job: str,
    status: dg.DagsterRunStatus,
    project: Project,
    instance: dg.DagsterInstance,
    catalog: PaimonCatalog,
) -> None:
    commit_orders(catalog, 3)
    definition = definitions_of(project).resolve_job_def(job)
    instance.create_run_for_job(definition, status=status, tags=definition.run_tags)
    data = tick(project, instance)
    if status == dg.DagsterRunStatus.STARTED:
        assert not data.run_requests
        assert data.skip_message == "shop.orders: a run is at work on it"
        assert cursor_of(data.cursor).tables == {}
    else:
        assert len(data.run_requests) == 1


@pytest.mark.parametrize("hint", [b"", b"\x00\x00", b"1", b"99", b"three", None])
def test_a_torn_stale_or_missing_hint_changes_nothing(
    hint: bytes | None, project: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    latest = Path(commit_orders(catalog, 3).location) / "snapshot" / "LATEST"
    latest.unlink()
    if hint is not None:
        latest.write_bytes(hint)
    (request,) = tick(project, instance).run_requests
    assert request.run_key.startswith("shop.orders@3@")


def test_a_table_that_cannot_be_read_keeps_its_place_and_waits(
    project: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    table = commit_orders(catalog, 3)
    snapshot = Path(table.location) / "snapshot" / "snapshot-3"
    whole = snapshot.read_bytes()
    snapshot.write_bytes(whole[: len(whole) // 2])
    first = tick(project, instance, Cursor(tables={"shop.orders": 2}).serialize())
    assert "Cannot read 1 of the tables: shop.orders:" in first.skip_message
    assert "snapshot-3" in first.skip_message
    cursor = cursor_of(first.cursor)
    assert (cursor.tables, cursor.troubles["shop.orders"].times) == ({"shop.orders": "2"}, 1)
    waiting = tick(project, instance, first.cursor)
    assert cursor_of(waiting.cursor) == cursor, "it is left alone for a while"
    again = tick(project, instance, later(first.cursor))
    assert cursor_of(again.cursor).troubles["shop.orders"].times == 2
    snapshot.write_bytes(whole)
    (request,) = tick(project, instance, later(again.cursor)).run_requests
    assert request.run_key.startswith("shop.orders@3@")


def later(cursor: str) -> str:
    """The cursor once the pauses in it are over."""
    actual = cursor_of(cursor)
    return replace(actual, troubles={name: Trouble(of.times, 0.0) for name, of in actual.troubles.items()}).serialize()


def test_a_pause_outlasts_a_run_that_is_at_work(
    project: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    commit_orders(catalog, 1)
    cursor: Cursor[str] = Cursor(troubles={"shop.orders": Trouble(4, 10.0)})
    definition = definitions_of(project).resolve_job_def("compact_shop_orders")
    instance.create_run_for_job(definition, status=dg.DagsterRunStatus.STARTED, tags=definition.run_tags)
    assert cursor_of(tick(project, instance, cursor.serialize()).cursor).troubles == cursor.troubles


def test_a_broken_table_does_not_hide_another(
    project: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    orders = commit_orders(catalog, 3)
    visits = catalog.get_table("shop.visits")
    visits.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([1], pa.int32())}))
    (Path(visits.location) / "snapshot" / "snapshot-1").write_text("{")
    data = tick(project, instance, Cursor(tables={"shop.visits": 0}).serialize())
    (request,) = data.run_requests
    assert request.run_key.startswith("shop.orders@3@")
    cursor = cursor_of(data.cursor)
    assert cursor.tables == {"shop.orders": identity(orders), "shop.visits": "0"}
    assert cursor.troubles["shop.visits"].times == 1


def test_due_picks_the_tables_that_need_it() -> None:
    a, b = SnapshotIdentity.numbered(4), SnapshotIdentity.numbered(9)
    states = {
        "db.a": NewestState(a, due=True, reason="many runs"),
        "db.b": NewestState(b, due=False, reason="few runs"),
    }
    assert due(states) == {"db.a": states["db.a"]}


@pytest.mark.parametrize("text", [None, "", "not json", "[1]", "3", '{"tables": {"a": "x"}}', '{"troubles": {"a": 1}}'])
def test_a_cursor_that_makes_no_sense_counts_as_none(text: str | None) -> None:
    assert cursor_of(text) == Cursor()


def test_a_cursor_survives_its_text() -> None:
    cursor = Cursor("db.b", {"db.a": "4@5-0123456789abcdef"}, {"db.c": Trouble(2, 10.5)})
    assert cursor_of(cursor.serialize()) == cursor


def test_a_failed_compaction_is_asked_for_again_only_after_a_pause(
    project: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    commit_orders(catalog, 3)
    definition = definitions_of(project).resolve_job_def("compact_shop_orders")
    run = instance.create_run_for_job(definition, tags=definition.run_tags)
    instance.report_run_failed(run)
    data = tick(project, instance)
    assert not data.run_requests
    assert data.skip_message == "shop.orders: its last compactions failed, the next one waits"
    assert cursor_of(data.cursor).tables == {}
    assert not pausing(instance, "shop.orders", time.time() + 31)


def test_a_backfill_of_partitions_counts_as_a_run_at_work(project: Project, instance: dg.DagsterInstance) -> None:
    selected = frozenset({keys.compaction("shop.orders")})
    instance.add_run(dg.DagsterRun("__ASSET_JOB", status=dg.DagsterRunStatus.STARTED, asset_selection=selected))
    assert in_progress(instance, project.tables) == {"shop.orders"}


def test_a_compaction_of_many_tables_is_at_work_on_all(project: Project, instance: dg.DagsterInstance) -> None:
    instance.add_run(dg.DagsterRun("compact_database", status=dg.DagsterRunStatus.STARTED))
    assert in_progress(instance, project.tables) == {"shop.orders", "shop.visits"}


def test_the_projects_trigger_goes_before_the_tables(
    project: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    commit_orders(catalog, 2)
    earlier = {"compaction": CompactionPolicy(trigger=2)}
    sooner = project.model_copy(update={"tables": (project.tables[0].model_copy(update=earlier),)})
    assert len(tick(sooner, instance).run_requests) == 1
    never = {"compaction": CompactionPolicy(trigger=2, automatic=False)}
    silent = project.model_copy(update={"tables": (project.tables[0].model_copy(update=never),)})
    assert not tick(silent, instance).run_requests


def test_a_trigger_that_takes_a_full_compaction_asks_for_one(
    project: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    commit_orders(catalog, 2)
    policy = {"compaction": CompactionPolicy(level0_files=2)}
    eager = project.model_copy(update={"tables": (project.tables[0].model_copy(update=policy),)})
    (request,) = tick(eager, instance).run_requests
    assert "2 files of level 0 in a bucket" in request.tags["paimon/reason"]
    assert request.run_config == {"ops": {"compact": {"config": {"full": True, "partitions": []}}}}
    dg.validate_run_config(definitions_of(eager).resolve_job_def("compact_shop_orders"), request.run_config)


def test_a_trigger_names_a_partition_of_null_and_no_other(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    text = """
warehouse: warehouse
tables:
  - identifier: shop.sales
    columns: {day: STRING, id: INT}
    partition_keys: [day]
    compaction: {small_files: 3, trigger: 50}
"""
    (tmp_path / "tables.yaml").write_text(text)
    project = load_project(tmp_path / "tables.yaml", tmp_path)
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    days = pa.array([None, "", "__DEFAULT_PARTITION__"], pa.string())
    table.write_arrow(pa.table({"day": days, "id": pa.array([1, 2, 3], pa.int32())}))
    for _ in range(2):
        table.write_arrow(pa.table({"day": days[:1], "id": pa.array([1], pa.int32())}))
    (request,) = tick(project, instance).run_requests
    assert request.run_config["ops"]["compact"]["config"]["partitions"] == [{"day": None}]
    job = definitions_of(project).resolve_job_def("compact_shop_sales")
    result = job.execute_in_process(run_config=request.run_config, instance=instance)
    assert result.success
    assert sorted(str(table.paths.partition(entry.partition)) for entry in live(table)) == [
        *("day=''", "day='__DEFAULT_PARTITION__'", "day=__DEFAULT_PARTITION__")
    ]


def test_the_projects_trigger_is_what_the_compaction_goes_by(
    project: Project, instance: dg.DagsterInstance, catalog: PaimonCatalog
) -> None:
    commit_orders(catalog, 2)
    policy = {"compaction": CompactionPolicy(trigger=2)}
    sooner = project.model_copy(update={"tables": (project.tables[0].model_copy(update=policy),)})
    for tables, planned in ((project, 0), (sooner, 2)):
        job = definitions_of(tables).resolve_job_def("compact_shop_orders")
        config = {"ops": {"compact": {"config": {"dry_run": True}}}}
        result = job.execute_in_process(instance=instance, run_config=config, op_selection=["compact"])
        (event,) = [event for event in result.all_events if event.event_type_value == "STEP_OUTPUT"]
        assert event.step_output_data.metadata["planned files"].value == planned


def test_rows_that_no_read_returns_are_compacted_at_once_and_told_of(
    project: Project, instance: dg.DagsterInstance
) -> None:
    first = project.tables[0]
    options = {"bucket": "1", "write-only": "true", "deletion-vectors.enabled": "true"}
    project = project.model_copy(update={"tables": (first.model_copy(update={"options": options}),)})
    PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    table = commit_orders(PaimonCatalog(warehouse=project.warehouse), 1)
    (request,) = tick(project, instance).run_requests
    assert request.run_config == {}, "by the table's own rules, which lift level 0"
    reported = "2 committed rows in 1 file are invisible to batch reads until a compaction"
    assert request.tags["paimon/reason"] == reported
    radar = evaluate(project, instance, "check_radar")
    event, of_fleet = [event for event in checks_of(radar) if not event.passed]
    assert of_fleet.asset_key == keys.FLEET
    assert event.check_name == "rows_visible"
    assert event.severity == dg.AssetCheckSeverity.ERROR
    assert f"{reported}, since snapshot 1 by '" in (event.description or "")
    compact(None, table)
    assert not tick(project, instance).run_requests
    radar = evaluate(project, instance, "check_radar", radar.cursor)
    assert all(event.passed for event in checks_of(radar))


def endangered(project: Project, **conduct: bool) -> tuple[Project, CatalogTable]:
    """A table with deletion vectors that its writers compact, and so does the sensor."""
    options = {"bucket": "1", "write-only": "false", "deletion-vectors.enabled": "true"}
    policy = CompactionPolicy(**conduct)
    config = project.tables[0].model_copy(update={"options": options, "compaction": policy})
    project = project.model_copy(update={"tables": (config,)})
    return project, PaimonCatalog(warehouse=project.warehouse).get_or_create(config)


def order(number: int) -> pa.Table:
    return pa.table({"id": pa.array([number], pa.int64()), "status": ["a"]})


def test_no_compaction_is_asked_for_that_would_refuse(project: Project, instance: dg.DagsterInstance) -> None:
    project, table = endangered(project)
    foreign_write(table, order(1))
    foreign_compaction(table)
    foreign_write(table, order(2))
    data = tick(project, instance)
    assert not data.run_requests
    assert "is compacted by another engine as well" in (data.skip_message or "")
    radar = evaluate(project, instance, "check_radar")
    failed = {event.check_name: event for event in checks_of(radar) if not event.passed}
    assert failed["compacts_alone"].severity == dg.AssetCheckSeverity.ERROR
    assert "a matter of correctness, not of speed" in (failed["compacts_alone"].description or "")
    allowed, _ = endangered(project, beside_other_compactors=True)
    assert [request.job_name for request in tick(allowed, instance).run_requests] == ["compact_shop_orders"]


def test_compaction_gives_way_to_the_writers_of_another_engine(project: Project, instance: dg.DagsterInstance) -> None:
    project, table = endangered(project, beside_other_compactors=True)
    foreign_write(table, order(1))
    compact(None, table, beside_other_compactors=True)
    foreign_write(table, order(2), "flink-job")
    data = tick(project, instance)
    assert not data.run_requests
    assert "'flink-job' works on the same buckets, our compaction backs off until" in (data.skip_message or "")
    assert cursor_of(data.cursor).tables == {}, "it is looked at again"
    snapshot = table.snapshots.get(2)
    store(table, replace(snapshot, time_millis=snapshot.time_millis - 121_000))
    (request,) = tick(project, instance, data.cursor).run_requests
    assert request.run_key.startswith("shop.orders@3@")


def many_small(tmp_path: Path) -> Project:
    """Six tables that are due, as they are in tables.yaml."""
    described = []
    for number in range(6):
        name = f"db.t{number}"
        table = create_table(tmp_path, name=name, options={"bucket": "1", "write-only": "true"})
        for _ in range(3):
            table.write_arrow(rows_of(table))
        described.append({"identifier": name, "compaction": {"trigger": 3}})
    described[0]["spark_options"] = {"spark.sql.shuffle.partitions": "1"}
    return Project.model_validate({"warehouse": str(tmp_path), "spark": {"engine": "embedded"}, "tables": described})


def rows_of(table: Any) -> pa.Table:
    types = {field.name: arrow_type(field.type) for field in table.schema.fields}
    return pa.table({name: pa.array([None if name != "id" else 1], kind) for name, kind in types.items()})


def test_many_small_tables_that_are_due_share_a_run_which_compacts_each(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    project = many_small(tmp_path)
    data = tick(project, instance)
    alone, *shared = data.run_requests
    assert alone.job_name == "compact_db_t0", "its Spark has settings of its own"
    names = [f"db.t{number}" for number in range(1, 6)]
    assert {request.job_name for request in shared} == {"compact_small_tables"}
    assert [request.run_config["ops"]["small_tables"]["config"]["tables"] for request in shared] == [names]
    assert len({request.run_key for request in shared}) == len(shared)
    config = {"ops": {"small_tables": {"config": {"tables": names}}}}
    definitions = build_definitions(project)
    job = definitions.resolve_job_def("compact_small_tables")
    run = instance.create_run_for_job(job, run_config=config, status=dg.DagsterRunStatus.STARTED)
    assert in_progress(instance, project.tables) == set(names)
    assert tables_of(run) == set(names)
    damaged = PaimonCatalog(warehouse=project.warehouse).get_table("db.t3")
    data_file = next(Path(damaged.location).rglob("data-*"))
    content = data_file.read_bytes()
    data_file.write_bytes(b"no data")
    result = job.execute_in_process(config, instance=instance, raise_on_error=False)
    assert not result.success, "a table that fails is told of"
    assert result.dagster_run.run_id != run.run_id
    reported = {name for name in names if instance.fetch_observations(keys.asset_key(name), limit=1).records}
    assert reported == {*names} - {"db.t3"}, "the others are compacted, and reported to their assets"
    catalog = PaimonCatalog(warehouse=project.warehouse)
    assert {name: len(live(catalog.get_table(name))) for name in names} == {
        "db.t1": 1, "db.t2": 1, "db.t3": 3, "db.t4": 1, "db.t5": 1,
    }  # fmt: skip
    data_file.write_bytes(content)
    instance.report_run_canceled(run)
    for name in names:
        for _ in range(3):
            catalog.get_table(name).write_arrow(rows_of(catalog.get_table(name)))
    again = tick(project, instance, data.cursor)
    alone, shared_again = again.run_requests
    assert alone.job_name == "compact_db_t3", "one that has failed gets a run of its own"
    assert shared_again.run_config["ops"]["small_tables"]["config"]["tables"] == ["db.t1", "db.t2", "db.t4", "db.t5"]


def test_the_tables_of_a_shared_run_that_died_get_runs_of_their_own(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    project = many_small(tmp_path)
    shared = [request for request in tick(project, instance).run_requests if request.job_name == keys.COMPACT_SMALL]
    job = build_definitions(project).resolve_job_def(keys.COMPACT_SMALL)
    run = instance.create_run_for_job(job, run_config=shared[0].run_config, status=dg.DagsterRunStatus.STARTED)
    instance.report_run_failed(run)
    jobs = {request.job_name for request in tick(project, instance).run_requests}
    assert jobs == {f"compact_db_t{number}" for number in range(6)}, "two have failed, three are few"


def test_large_tables_do_not_share_a_run(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = many_small(tmp_path)
    monkeypatch.setattr(latest, "SMALL_BYTES", 10)
    jobs = {request.job_name for request in tick(project, instance).run_requests}
    assert jobs == {f"compact_db_t{number}" for number in range(6)}


@pytest.mark.parametrize("seconds", [0.0, 3600.0])
def test_lines_of_a_table_in_a_shared_run_are_written_every_few_seconds(
    seconds: float, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(any_table, "_LINES_SECONDS", seconds)
    job = build_definitions(many_small(tmp_path)).resolve_job_def(keys.COMPACT_SMALL)
    config = {"ops": {"small_tables": {"config": {"tables": ["db.t1"]}}}}
    done = job.execute_in_process(config, instance=instance)
    events = [event.user_message for event in instance.all_logs(done.run_id) if event.user_message[:6] == "db.t1:"]
    assert (len(events) == 1) == (seconds > 0)
    assert sum(len(event.splitlines()) - 1 for event in events) > 1, "each line is written once"


def test_a_shared_run_leaves_the_checks_to_the_radar_while_that_ticks(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    job = build_definitions(many_small(tmp_path)).resolve_job_def(keys.COMPACT_SMALL)
    switch_on(instance, keys.RADAR_SENSOR)
    events = {}
    for name, ticked in (("db.t1", time.time()), ("db.t2", time.time() - 600.0)):
        (state,) = [state for state in instance.all_instigator_state() if state.name == keys.RADAR_SENSOR]
        instance.update_instigator_state(state.with_data(SensorInstigatorData(ticked)))
        done = job.execute_in_process({"ops": {"small_tables": {"config": {"tables": [name]}}}}, instance=instance)
        events[name] = [event.event_type_value for event in done.all_events]
        (record,) = instance.fetch_observations(keys.asset_key(name), limit=1).records
        assert record.asset_observation is not None
        assert record.asset_observation.metadata["snapshot"].value == 4
    assert [name for name, types in events.items() if "ASSET_CHECK_EVALUATION" in types] == ["db.t2"]


def test_a_shared_run_compacts_small_tables_without_spark(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = many_small(tmp_path)
    job = build_definitions(project).resolve_job_def(keys.COMPACT_SMALL)
    asked: list[str] = []
    monkeypatch.setattr(Spark, "session", lambda _: asked.append("Spark"))
    for name, small_bytes in (("db.t1", 64 << 20), ("db.t2", 10)):
        monkeypatch.setattr(any_table, "SMALL_BYTES", small_bytes)
        job.execute_in_process({"ops": {"small_tables": {"config": {"tables": [name]}}}}, instance=instance)
        assert bool(asked) == (name == "db.t2")
        assert len(live(PaimonCatalog(warehouse=project.warehouse).get_table(name))) == 1


@pytest.mark.parametrize(
    ("due", "sizes"),
    [(0, []), (5, [5]), (6, [3, 3]), (11, [4, 4, 3]), (20, [5] * 4), (80, [20] * 4), (81, [20] * 4 + [1])],
    ids=str,
)
def test_a_shared_run_has_five_to_twenty_tables_if_there_are_as_many(due: int, sizes: list[int]) -> None:
    names = [f"db.t{number}" for number in range(due)]
    shares = latest.shares(names)
    assert [len(share) for share in shares] == sizes
    assert [name for share in shares for name in share] == names
