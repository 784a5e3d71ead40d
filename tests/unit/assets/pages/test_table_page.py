"""What a table's page says of the snapshots: who wrote them."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.identity import APPLICATION_PROPERTY
from maintenance.operations.ingestion.ingest import ingest
from maintenance.project.config import TableConfig
from paimon_maintenance.assets.pages.fleet import FleetPage, FleetRow
from paimon_maintenance.assets.pages.table_page import TableView, table_page, writer_of
from paimon_maintenance.assets.project.console_links import console_link
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


def test_pages_lead_to_the_console_where_its_address_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    view = TableView(TableConfig(identifier="db.t"), datetime.now(UTC), None, None, ())
    monkeypatch.delenv("PAIMON_CONSOLE_URL", raising=False)
    assert "console" not in table_page(view)
    assert console_link("plans", "0123") == {}
    monkeypatch.setenv("PAIMON_CONSOLE_URL", "http://console.test/")
    assert table_page(view)["console"].value == "http://console.test/tables/db.t"
    assert console_link("plans", "0123")["console"].value == "http://console.test/plans/0123"
    assert FleetPage([FleetRow("db.t", "healthy")]).metadata()["console"].value == "http://console.test/"
