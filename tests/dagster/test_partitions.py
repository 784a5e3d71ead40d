"""Compaction as the state of partitions, on a real table and a real instance."""

from collections import Counter
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleStatus
from dagster._core.loader import LoadingContextForTest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.project.config import Project, load_project
from maintenance.project.policies import PartitionsPolicy
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.partitions import key_of, spec_of
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions
from paimon_maintenance.sensors.cursor import Cursor
from paimon_maintenance.sensors.partitions import cursor_of
from tests.dagster.conftest import definitions_of
from tests.tables import live

TEXT = """
warehouse: warehouse
tables:
  - identifier: shop.sales
    columns: {day: STRING NOT NULL, id: INT NOT NULL, amount: INT}
    primary_keys: [day, id]
    partition_keys: [day]
    options: {bucket: 1, write-only: true}
"""
COMPACTION, STATES = keys.compaction("shop.sales"), keys.partition_states("shop.sales")


AS_OPTIONS = TEXT.replace("    primary_keys: [day, id]\n    partition_keys: [day]\n", "").replace(
    "{bucket: 1,", "{primary-key: 'day,id', partition: day, bucket: 1,"
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    path = tmp_path / "tables.yaml"
    path.write_text(TEXT)
    return load_project(path, tmp_path)


def test_keys_that_are_written_as_options_make_the_same_assets(project: Project, tmp_path: Path) -> None:
    (tmp_path / "tables.yaml").write_text(AS_OPTIONS)
    same = load_project(tmp_path / "tables.yaml", tmp_path)
    made, expected = (set(build_definitions(each).resolve_all_asset_keys()) for each in (same, project))
    assert COMPACTION in made
    assert made == expected


@pytest.fixture
def table(project: Project) -> CatalogTable:
    return PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])


def put(table: CatalogTable, *days: str) -> None:
    rows = {
        "day": list(days),
        "id": pa.array([1] * len(days), pa.int32()),
        "amount": pa.array([2] * len(days), pa.int32()),
    }
    table.write_arrow(pa.table(rows))


def tick(project: Project, instance: dg.DagsterInstance, cursor: str | None = None) -> str:
    """One evaluation of the sensor; what it asks for is done as the daemon does it. Returns the cursor."""
    definitions = build_definitions(project)
    resources = {"catalog": PaimonCatalog(warehouse=project.warehouse)}
    with dg.build_sensor_context(instance, cursor, definitions=definitions, resources=resources) as context:
        result: Any = definitions.resolve_sensor_def("partition_mirror")(context)
    for event in result.asset_events:
        instance.report_runless_asset_event(event)
    return str(result.cursor)


def mirrored(instance: dg.DagsterInstance) -> list[str]:
    return list(instance.get_dynamic_partitions("paimon/shop.sales"))


def statuses(project: Project, instance: dg.DagsterInstance, asset: dg.AssetKey = COMPACTION) -> dict[str, StaleStatus]:
    graph = build_definitions(project).resolve_asset_graph()
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    return {key: resolver.get_status(asset, key) for key in mirrored(instance)}


def backfill(
    project: Project, instance: dg.DagsterInstance, first: str, last: str, asset: dg.AssetKey = COMPACTION
) -> Any:
    tags = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
    job = definitions_of(project).resolve_implicit_global_asset_job_def()
    return job.execute_in_process(instance=instance, asset_selection=[asset], tags=tags, raise_on_error=False)


def compact_step(project: Project, instance: dg.DagsterInstance, **config: Any) -> Any:
    job = definitions_of(project).resolve_job_def("compact_shop_sales")
    settings = {"ops": {"compact": {"config": config}}}
    return job.execute_in_process(run_config=settings, instance=instance, raise_on_error=False)


def metadata(result: Any) -> Any:
    return result.asset_materializations_for_node("shop__sales__sales_compaction")[0].metadata


def test_partitions_are_mirrored_and_gone_ones_dropped(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    put(table, "b", "a")
    cursor = tick(project, instance)
    assert mirrored(instance) == ["day=a", "day=b"]
    put(table, "c")
    table.truncate([{"day": "a"}])
    cursor = tick(project, instance, cursor)
    assert mirrored(instance) == ["day=b", "day=c"]
    assert cursor_of(cursor).tables["shop.sales"].digests.keys() == {"day=b", "day=c"}


def test_only_the_newest_partitions_are_mirrored(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    few = project.tables[0].model_copy(update={"partitions": PartitionsPolicy(max_keys=2)})
    for day in ("a", "b", "c"):
        put(table, day)
    tick(project.model_copy(update={"tables": (few,)}), instance)
    assert mirrored(instance) == ["day=b", "day=c"]


@pytest.mark.slow
def test_a_backfill_rewrites_what_is_stale_and_late_data_reopens_a_partition(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    days = [f"{number:02d}" for number in range(12)]
    put(table, *days)
    put(table, *days)
    cursor = tick(project, instance)
    assert set(statuses(project, instance).values()) == {StaleStatus.MISSING}

    first = backfill(project, instance, "day=00", "day=11")
    assert first.success
    assert metadata(first)["partitions rewritten"].value == 12
    version = first.asset_materializations_for_node("shop__sales__sales_compaction")[0].tags["dagster/data_version"]
    assert version == str(SnapshotIdentity.of(table.snapshots.get(2))), "all that snapshot 2 holds is compacted"
    cursor = tick(project, instance, cursor)
    latest = instance.get_latest_data_version_record(COMPACTION, False, "day=03")
    assert latest is not None
    assert latest.run_id == first.run_id, "what the run has told is not told again"
    assert latest.asset_materialization is not None
    assert latest.asset_materialization.metadata["files"].value == 1
    assert set(statuses(project, instance).values()) == {StaleStatus.FRESH}

    put(table, "03", "07")
    cursor = tick(project, instance, cursor)
    stale = {key for key, status in statuses(project, instance).items() if status == StaleStatus.STALE}
    assert stale == {"day=03", "day=07"}

    second = backfill(project, instance, "day=00", "day=11")
    assert metadata(second)["partitions rewritten"].value == 2
    changed = {entry.partition for entry in table.manifests.delta_entries(table.snapshots.get(5))}
    assert {table.paths.spec_of(partition)["day"] for partition in changed} == {"03", "07"}
    tick(project, instance, cursor)
    assert set(statuses(project, instance).values()) == {StaleStatus.FRESH}
    before = table.snapshots.latest_id()
    assert metadata(backfill(project, instance, "day=00", "day=11"))["partitions rewritten"].value == 0
    assert table.snapshots.latest_id() == before


@pytest.mark.slow
@pytest.mark.parametrize("producer", ["lookup", "full-compaction"])
def test_a_backfill_makes_the_changelog_of_partitions_that_lack_it(
    project: Project, instance: dg.DagsterInstance, producer: str
) -> None:
    options = {**project.tables[0].options, "changelog-producer": producer}
    described = project.tables[0].model_copy(update={"options": options})
    project = project.model_copy(update={"tables": (described,)})
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(described)
    changelog = keys.changelog("shop.sales")
    put(table, "a", "b", "c")
    put(table, "b")
    cursor = tick(project, instance)
    assert set(statuses(project, instance, changelog).values()) == {StaleStatus.MISSING}
    result = backfill(project, instance, "day=a", "day=b", changelog)
    assert result.success
    assert result.asset_materializations_for_node("shop__sales__sales_changelog")[0].metadata[
        "partitions rewritten"
    ].value == 2  # fmt: skip
    log = PaimonCatalog(warehouse=project.warehouse).open().get_table("shop.sales$audit_log")
    rows = log.to_arrow(options={"incremental-between": "2,3"}).to_pylist()
    assert sorted((row["day"], row["rowkind"]) for row in rows) == [("a", "+I"), ("b", "+I")]
    cursor = tick(project, instance, cursor)
    assert statuses(project, instance, changelog)["day=c"] == StaleStatus.MISSING
    produce_changelog(None, table)
    put(table, "b")
    tick(project, instance, cursor)
    said = statuses(project, instance, changelog)
    assert (said["day=a"], said["day=b"], said["day=c"]) == (
        StaleStatus.FRESH,
        StaleStatus.STALE,
        StaleStatus.FRESH,
    )


def test_what_others_compact_is_seen_and_later_data_still_reopens_it(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    from maintenance.operations.compaction.compact import compact

    put(table, "a", "b")
    cursor = tick(project, instance)
    compact(None, table, full=True)
    cursor = tick(project, instance, cursor)
    assert set(statuses(project, instance).values()) == {StaleStatus.FRESH}
    put(table, "b")
    tick(project, instance, cursor)
    assert statuses(project, instance) == {"day=a": StaleStatus.FRESH, "day=b": StaleStatus.STALE}


def test_a_tick_without_news_tells_nothing(project: Project, instance: dg.DagsterInstance, table: CatalogTable) -> None:
    put(table, "a")
    cursor = tick(project, instance)
    before = len(instance.fetch_observations(STATES, limit=10).records)
    assert tick(project, instance, cursor) == cursor
    assert len(instance.fetch_observations(STATES, limit=10).records) == before == 1


SAME_FOLDER = ("", " ", "__DEFAULT_PARTITION__")


def test_partitions_of_one_folder_have_keys_of_their_own(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    for _ in range(2):
        put(table, *SAME_FOLDER, "a")
    cursor = tick(project, instance)
    assert sorted(mirrored(instance)) == [*("day=%27 %27", "day=%27%27", "day=%27__DEFAULT_PARTITION__%27", "day=a")]
    key = "day=%27%27"
    assert backfill(project, instance, key, key).success
    tick(project, instance, cursor)
    assert {each for each, status in statuses(project, instance).items() if status == StaleStatus.FRESH} == {key}
    files = [str(table.paths.partition(entry.partition)) for entry in live(table)]
    assert (files.count("day=''"), files.count("day=' '"), files.count("day=a")) == (1, 2, 2)


def test_a_name_of_several_partitions_is_refused(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    for _ in range(2):
        put(table, *SAME_FOLDER)
    result = compact_step(project, instance, full=True, partitions=[{"day": "__DEFAULT_PARTITION__"}])
    failure = result.failure_data_for_node("compact")
    assert failure is not None
    assert failure.user_failure_data is not None
    told = str(failure.user_failure_data.description)
    assert "may mean several partitions: day = '' or day = ' ' or day = '''__DEFAULT_PARTITION__'''" in told
    assert compact_step(project, instance, full=True, partitions=[{"day": " "}]).success
    assert len(live(table)) == 5


@given(st.dictionaries(st.text(min_size=1), st.text(), min_size=1, max_size=3))
def test_a_partition_key_is_its_spec(spec: dict[str, str]) -> None:
    key = key_of(spec)
    assert spec_of(key) == spec
    assert not any(part in key for part in ("...", "\a", "\b", "\f", "\n", "\r", "\t", "\v", "\0"))


@pytest.mark.parametrize("text", ["not json", "[]", '{"tables": {"a": 1}}', '{"tables": {"a": {"snapshot": "x"}}}'])
def test_a_cursor_that_makes_no_sense_counts_as_none(text: str) -> None:
    assert cursor_of(text) == Cursor()


def test_a_misspelt_partition_fails_at_once(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    put(table, "2026-08-01", "2026-08-02")
    result = compact_step(project, instance, partitions=[{"day": "2026-8-02"}])
    failure = result.failure_data_for_node("compact")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert failure.user_failure_data.description == (
        "partition day=2026-8-02 does not exist (table shop.sales). Next step: The nearest one is day=2026-08-02. "
        "The table has 2 partitions: day=2026-08-01, day=2026-08-02."
    )
    assert result.retry_attempts_for_node("compact") == 0


def test_a_filter_that_matches_no_partition_is_told(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    put(table, "a", "b")
    result = compact_step(project, instance, where="day = 'c'", dry_run=True)
    assert result.success
    (shown,) = (
        event.event_specific_data.metadata
        for event in result.all_events
        if event.event_type_value == "STEP_OUTPUT" and event.step_key == "compact"
    )
    assert shown["finding"].value == "no partition matches day = 'c'. The table has 2 partitions: day=a, day=b."


def test_a_backfill_names_the_partitions_that_are_gone(
    project: Project, instance: dg.DagsterInstance, table: CatalogTable
) -> None:
    put(table, "a", "b", "c")
    tick(project, instance)
    table.drop_partitions([{"day": "b"}])
    result = backfill(project, instance, "day=a", "day=c")
    assert result.success
    assert metadata(result)["partitions"].value == 2
    assert metadata(result)["partitions that do not exist"].value == ["day=b"]
    table.drop_partitions([{"day": "a"}])
    gone = backfill(project, instance, "day=a", "day=b")
    failure = gone.failure_data_for_node("shop__sales__sales_compaction")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert "partitions day=a, day=b do not exist" in failure.user_failure_data.description


def test_a_range_of_partitions_is_one_job(project: Project, instance: dg.DagsterInstance, table: CatalogTable) -> None:
    for _ in range(2):
        put(table, "a", "b", "c", "d")
    result = compact_step(project, instance, full=True, **{"from": {"day": "b"}, "to": {"day": "c"}})
    assert result.success
    assert {path for path, count in files_by_day(table).items() if count == 1} == {"b", "c"}
    assert compact_step(project, instance, full=True, **{"from": {"day": "c"}}).success
    assert {path for path, count in files_by_day(table).items() if count == 1} == {"b", "c", "d"}
    result = compact_step(project, instance, full=True, to={"month": "7"})
    failure = result.failure_data_for_node("compact")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert "'to' is about month" in str(failure.user_failure_data.description)
    assert "They are: day." in str(failure.user_failure_data.description)


def files_by_day(table: CatalogTable) -> Counter[str]:
    return Counter(table.paths.partition(entry.partition)["day"] for entry in live(table))
