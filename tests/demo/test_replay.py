"""The replay of the demo's tables under their own settings has, at every moment, the files that were there."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from maintenance.catalog import CatalogTable
from maintenance.operations import simulate_settings
from maintenance.operations.compaction.compact import compact
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.operations.ingestion.ingest import ingest
from paimon_maintenance.assets.project.environment import project_of_environment as project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.demo import correction
from paimon_maintenance.demo.flights import ROW_KIND
from paimon_maintenance.demo.pipeline import follow, records_of
from paimon_maintenance.demo.run import FLIGHTS, ROUTE_DAY, WEATHER, all_deliveries
from tests.spark.conftest import spark  # noqa: F401

ROUNDS = 4
# All of the past is there to be replayed.
KEPT = {"snapshot.num-retained.min": "1000", "snapshot.num-retained.max": "2000"}


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> dict[str, CatalogTable]:  # noqa: F811
    """As the demo leaves them: fed, compacted and indexed round by round, the weather corrected in between."""
    catalog = PaimonCatalog(warehouse=str(tmp_path))
    described = {table.identifier: table for table in project().tables}
    made = {
        name: catalog.get_or_create(each.model_copy(update={"options": {**each.options, **KEPT}}))
        for name, each in described.items()
    }
    feed, records = all_deliveries(), records_of(spark, made[FLIGHTS], made[ROUTE_DAY])
    for number in range(ROUNDS):
        for name in (FLIGHTS, WEATHER):
            kind = ROW_KIND if name == FLIGHTS else None
            for delivery in feed[name][number]:
                ingest(
                    None,
                    made[name],
                    delivery.rows,
                    commit_user="feed",
                    commit_identifier=delivery.batch,
                    row_kind_column=kind,
                )
            if (name, number) == (WEATHER, ROUNDS - 1):
                made[name].update(correction.ASSIGNMENTS, correction.WHERE, spark=spark)
            compact(None, made[name])
            rewrite_file_index(None, made[name])
        follow(records, made[ROUTE_DAY], tmp_path / "checkpoint")
        compact(None, made[ROUTE_DAY])
    return made


@pytest.mark.slow
def test_the_replay_of_the_demos_tables_has_their_real_numbers_of_files(tables: dict[str, CatalogTable]) -> None:
    for name, table in tables.items():
        snapshots = [table.snapshots.get(number) for number in table.snapshots.list_ids()]
        files = {each.time_millis: len(table.manifests.live_entries(each)) for each in snapshots}
        own = simulate_settings(table, {}, snapshots=10_000).settings[0]
        assert len(own.points) > ROUNDS
        assert own.compactions >= 1
        for point in own.points:
            real = files[max(millis for millis in files if millis <= point.millis)]
            assert point.files == pytest.approx(real, rel=0.05), f"{name} at {point.millis}"
        assert own.files == pytest.approx(len(table.manifests.live_entries(snapshots[-1])), rel=0.05)
