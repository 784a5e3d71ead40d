"""What a table's page says of the snapshots: who wrote them."""

from pathlib import Path

from maintenance.catalog import CatalogTable
from maintenance.commit.identity import APPLICATION_PROPERTY
from maintenance.operations.ingestion.ingest import ingest
from paimon_maintenance.assets.pages.table_page import writer_of
from tests.tables import create_table, keyed

WRITERS = {"etl-orders_*": "Flink job orders"}


def written_by(table: CatalogTable) -> str:
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return writer_of(snapshot, WRITERS)


def test_a_writer_is_named_with_its_job_run_or_application(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    for user in ("etl-orders_5f2a", "nobody"):
        table.write_arrow(keyed({1: "a"}), commit_user=user)
        assert written_by(table) == {"nobody": "nobody"}.get(user, "etl-orders_5f2a (Flink job orders)")
    ingest(None, table, keyed({2: "b"}), commit_user="loader", properties={APPLICATION_PROPERTY: "app-1"})
    assert written_by(table) == "loader (Spark application app-1)"
    ingest(None, table.of_run("0123456789ab"), keyed({3: "c"}), commit_user="loader")
    assert written_by(table) == "run 01234567"
