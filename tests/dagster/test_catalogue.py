"""What the catalogue shows of a table: its schema as it is, words, tags, links, and where its columns come from."""

from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.catalog import AddColumn, Schema
from maintenance.errors import OptionError
from maintenance.project.config import Project, load_project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.pages.materialization import commit_materialization
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions
from tests.dagster.conftest import definitions_of, land

FOREIGN = """
warehouse: warehouse
patterns:
  - pattern: lake.*
    links: {runbook: "https://wiki.example/lake"}
tables:
  - identifier: lake.totals
    lineage: {lake.sales: {total: [price, pieces]}, kafka.prices: {}}
"""


@pytest.fixture
def lake(tmp_path: Path) -> Project:
    """A warehouse that others have filled: lake.sales and lake.totals."""
    catalog = PaimonCatalog(warehouse=str(tmp_path / "warehouse")).open()
    catalog.create_database("lake")
    fields = [
        ("day", "STRING NOT NULL"),
        ("id", "INT NOT NULL", "Number of the receipt."),
        ("price", "DECIMAL(9, 2)"),
        ("pieces", "ARRAY<INT NOT NULL>"),
    ]
    options = {"bucket": "2", "merge-engine": "first-row"}
    catalog.create_table(
        "lake.sales", Schema(fields, ["day", "id"], ["day"], options, comment="Receipts of the tills.")
    )
    catalog.create_table("lake.totals", Schema([("total", "BIGINT")]))
    (tmp_path / "tables.yaml").write_text(FOREIGN)
    return load_project(tmp_path / "tables.yaml", tmp_path)


def spec_of(project: Project, *key: str) -> dg.AssetSpec:
    specs = build_definitions(project).resolve_all_asset_specs()
    return next(spec for spec in specs if spec.key.path == [*key])


def columns_of(spec: dg.AssetSpec) -> dict[str, Any]:
    return {column.name: column for column in spec.metadata["dagster/column_schema"].columns}


def test_a_table_of_others_shows_its_schema(lake: Project) -> None:
    spec = spec_of(lake, "lake", "sales")
    columns = columns_of(spec)
    assert list(columns) == ["day", "id", "price", "pieces"]
    assert columns["id"].description == "Number of the receipt."
    assert columns["day"].constraints.other == ["primary key", "partition key"]
    assert [column.constraints.nullable for column in columns.values()] == [False, False, True, True]
    assert columns["pieces"].type == "ARRAY<INT NOT NULL>", "what an element may be says nothing of the column"
    assert spec.metadata["dagster/uri"].endswith("/warehouse/lake.db/sales")
    assert spec.metadata["runbook"] == dg.MetadataValue.url("https://wiki.example/lake")
    assert spec.kinds == {"paimon", "parquet", "spark"}
    assert spec.tags["paimon/merge-engine"] == "first-row"


def test_its_comment_and_shape_are_told_in_words(lake: Project) -> None:
    spec = spec_of(lake, "lake", "sales")
    reported = spec.description or ""
    assert reported.startswith("Receipts of the tills.\n\nWritten by others; primary key day, id;")
    assert "merge engine first-row; partitioned by day; 2 buckets" in reported
    assert "](" not in reported, "lists show it as plain text"
    jobs = ("maintain_lake_sales", "compact_lake_sales", "expire_lake_sales", "fsck_lake_sales")
    assert spec.metadata["jobs"].value == ", ".join(f"[{job}](/guess/{job})" for job in jobs)


def test_a_column_that_came_later_is_shown(project: Project) -> None:
    catalog = PaimonCatalog(warehouse=project.warehouse)
    catalog.get_or_create(project.tables[0])
    catalog.open().alter_table("shop.orders", [AddColumn("note", "STRING", "What the customer said.")])
    spec = spec_of(project, "shop", "orders")
    assert columns_of(spec)["note"].description == "What the customer said."
    assert "note" not in columns_of(spec_of(project, "shop", "orders", "orders_landing"))


def test_lineage_follows_the_file(lake: Project) -> None:
    spec = spec_of(lake, "lake", "totals")
    assert {dep.asset_key for dep in spec.deps} == {keys.asset_key("lake.sales"), keys.asset_key("kafka.prices")}
    sources = [dg.TableColumnDep(keys.asset_key("lake.sales"), name) for name in ("price", "pieces")]
    lineage = dg.TableColumnLineage({"total": sources})
    assert columns_of(spec)["total"].description == "From lake.sales: price, pieces."
    assert spec.metadata["dagster/column_lineage"] == lineage
    totals = next(table for table in lake.tables if table.identifier == "lake.totals")
    table = PaimonCatalog(warehouse=lake.warehouse).get_table("lake.totals")
    table.write_arrow(pa.table({"total": pa.array([1], pa.int64())}))
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    event = commit_materialization(totals, snapshot)
    assert event.metadata["dagster/column_lineage"].value == lineage


def test_what_lands_comes_into_columns_of_the_same_name(project: Project, instance: dg.DagsterInstance) -> None:
    landing = keys.landing("shop.orders")
    spec = spec_of(project, "shop", "orders")
    assert {dep.asset_key for dep in spec.deps} == {landing}
    assert list(columns_of(spec_of(project, *landing.path))) == ["id", "status", "amount", "kind"]
    land(project, 1, 1, [(1, "new", "+I")])
    result = definitions_of(project).resolve_job_def("maintain_shop_orders").execute_in_process(instance=instance)
    (event,) = result.asset_materializations_for_node("shop__orders.describe")
    lineage = event.metadata["dagster/column_lineage"].value
    assert isinstance(lineage, dg.TableColumnLineage)
    assert lineage.deps_by_column == {name: [dg.TableColumnDep(landing, name)] for name in ("id", "status", "amount")}


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("comments: {nope: x}", "'nope' is not among the columns"),
        ("lineage: {db.s: {nope: [x]}}", "'nope' is not among the columns"),
        ("lineage: {db.s: {id: [x]}}\n    landing: {path: p, commit_user: u}", "lineage is for tables that others"),
        ("found: {location: x}", "FoundTable"),
    ],
)
def test_mistakes_in_what_it_shows_are_refused(more: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "tables.yaml"
    path.write_text(f"warehouse: w\ntables:\n  - identifier: db.t\n    columns: {{id: INT}}\n    {more}\n")
    with pytest.raises(OptionError, match=found):
        load_project(path, tmp_path)


def test_comments_are_those_of_the_created_table(tmp_path: Path) -> None:
    path = tmp_path / "tables.yaml"
    path.write_text("warehouse: w\ntables: [{identifier: db.t, columns: {id: INT}, comments: {id: Its number.}}]\n")
    project = load_project(path, tmp_path)
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    assert table.schema.fields[0].description == "Its number."
    assert columns_of(spec_of(project, "db", "t"))["id"].description == "Its number."
