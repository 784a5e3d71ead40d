"""The tables and files that pages name."""

import json
import shutil
from collections.abc import Callable, Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from maintenance.catalog import Catalog, CatalogTable, Schema, open_catalog
from maintenance.operations import reset_consumer
from tests.plain_tables import PlainCatalog

# As Paimon's connector for Java prints it.
_SCAN = "BatchScan paimon.sales.orders[customer#1] PaimonScan: [sales.orders], DataFilters: []"
DAYS = ["2024-05-14", "2026-01-31"]


def make_orders(lake: Path) -> None:
    """`shop.orders` and `sales.orders`, each of ten commits, in a warehouse that each page gets a copy of."""
    catalog = open_catalog({"warehouse": str(lake)})
    columns = [("id", "BIGINT NOT NULL"), ("k", "INT"), ("customer", "STRING"), ("amount", "DECIMAL(10, 2)")]
    options = {"bucket": "2", "write-only": "true", "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
    schema = Schema([*columns, ("dt", "STRING NOT NULL")], ["id", "dt"], ["dt"], options)
    for database in ("shop", "sales"):
        catalog.create_database(database)
        catalog.create_table(f"{database}.orders", schema)
    table = catalog.get_table("shop.orders")
    for number in range(10):
        table.write_arrow(orders(number), commit_user="feed")
    shutil.copytree(f"{lake}/shop.db/orders", f"{lake}/sales.db/orders", dirs_exist_ok=True)


def orders(number: int) -> pa.Table:
    """Orders of two days; half of them replace orders of the batch before."""
    ids = range(number * 2, number * 2 + 4)
    return pa.table(
        {
            "id": ids,
            "k": pa.array([each % 3 for each in ids], pa.int32()),
            "customer": ["ana", "bo"] * 2,
            "amount": pa.array([Decimal(each) for each in ids], pa.decimal128(10, 2)),
            "dt": DAYS * 2,
        }
    )


def names_of(page: str, folder: Path) -> dict[str, Any]:
    """What the blocks of a page take for granted: `catalog`, `table`, `rows`, and what else they name."""
    catalog = open_catalog({"warehouse": str(folder / "lake")})
    names = {"catalog": catalog, "table": catalog.get_table("sales.orders"), "rows": orders(10)}
    return names | (_MORE[page](catalog, folder) if page in _MORE else {})


def _table(catalog: Catalog, name: str, schema: Schema, *batches: pa.Table) -> CatalogTable:
    catalog.create_database(name.partition(".")[0], ignore_if_exists=True)
    catalog.create_table(name, schema)
    table = catalog.get_table(name)
    for batch in batches:
        table.write_arrow(batch)
    return table


def _catalogs(_catalog: Catalog, folder: Path) -> dict[str, Any]:
    image = folder / "images/2024/cat.jpg"
    image.parent.mkdir(parents=True)
    image.write_bytes(b"a cat of more than 16 bytes")
    hive = PlainCatalog.of(folder / "plain")
    hive.create_database("db")
    columns = [("k", "BIGINT"), ("dt", "STRING")]
    hive.create_table("db.files", Schema(columns, (), ["dt"], {"type": "format-table", "file.format": "parquet"}))
    return {"hive": hive, "rows": pa.table({"k": [1, 2], "dt": ["d1", "d1"]})}


def _changelogs(catalog: Catalog, _folder: Path) -> dict[str, Any]:
    columns = [(field.name, str(field.type)) for field in catalog.get_table("shop.orders").schema.fields]
    return {"copy": _table(catalog, "shop.copy", Schema(columns, ["id", "dt"], (), {"bucket": "1"}))}


def _compaction(catalog: Catalog, _folder: Path) -> dict[str, Any]:
    places = pa.table({"lat": [3.0, 1.0, 2.0], "lon": [1.0, 2.0, 3.0]})
    _table(catalog, "sales.places", Schema([("lat", "DOUBLE"), ("lon", "DOUBLE")]), places, places)
    return {}


def _weather(catalog: Catalog, _folder: Path) -> dict[str, Any]:
    columns = [("station", "INT"), ("day", "DATE"), ("celsius", "DOUBLE")]
    days = [date(2023, 1, 1), date(2024, 1, 1), date(2024, 1, 2), date(2019, 1, 1)]
    stations = pa.array([7, 7, 8, 9], pa.int32())
    rows = pa.table({"station": stations, "day": days, "celsius": [1.0, 2.0, 3.0, 4.0]})
    _table(catalog, "db.weather", Schema(columns), rows)
    corrections = {"station": pa.array([8, 5], pa.int32()), "day": [date(2024, 1, 2)] * 2, "celsius": [None, 9.0]}
    return {"corrections": pa.table(corrections)}


def _events(catalog: Catalog, _folder: Path) -> dict[str, Any]:
    columns = [("user_id", "BIGINT"), ("country", "STRING"), ("day", "STRING")]
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    days = ["2026-05-01", "2026-05-01", "2026-05-02"]
    rows = pa.table({"user_id": [1, 2, 3], "country": ["no", "it", "no"], "day": days})
    return {"table": _table(catalog, "db.events", Schema(columns, (), ["day"], options), rows)}


def _iceberg(catalog: Catalog, _folder: Path) -> dict[str, Any]:
    catalog.create_database("db")
    return {"rows": pa.table({"k": [1, 2], "v": ["a", "b"]})}


def _evolving(catalog: Catalog, _folder: Path) -> dict[str, Any]:
    address = "ROW<street STRING>"
    columns = [("id", "BIGINT"), ("v", "STRING"), ("address", address), ("id_of_shop", "INT"), ("tags", "ARRAY<INT>")]
    rows = pa.table(
        {
            "id": [1],
            "v": ["a"],
            "address": [{"street": "Main"}],
            "id_of_shop": pa.array([2], pa.int32()),
            "tags": pa.array([[3]], pa.list_(pa.int32())),
        }
    )
    _table(catalog, "demo.t", Schema(columns), rows)
    return {}


def _sql(catalog: Catalog, folder: Path) -> dict[str, Any]:
    bids = pa.table({"bid_time": [datetime(2026, 1, 1, 0, 5), datetime(2026, 1, 1, 0, 9)], "price": [1, 2]})
    _table(catalog, "default.bids", Schema([("bid_time", "TIMESTAMP(3)"), ("price", "BIGINT")]), bids)
    schema = Schema([("id", "INT NOT NULL"), ("city", "STRING")], ["id"], (), {"bucket": "2", "write-only": "true"})
    trips = pa.table({"id": pa.array([1, 2], pa.int32()), "city": ["Oslo", None]})
    _table(catalog, "db.trips", schema, *[trips] * 8)
    catalog.create_table("default.copy", schema)
    parquet.write_table(trips, folder / "trips.parquet")
    (folder / "in").mkdir()
    csv.write_csv(pa.table({"id": [11], "city": ["Bonn"]}), folder / "in/trips.csv")
    (folder / "nightly.sql").write_text("SELECT COUNT(*) FROM db.trips;")
    # `health` of all tables is to find nothing wrong.
    catalog.drop_table("sales.orders")
    catalog.drop_table("shop.orders")
    return {}


def _tuning(_catalog: Catalog, folder: Path) -> dict[str, Any]:
    (folder / "queries.sql").write_text("SELECT * FROM sales.orders WHERE customer = 'ana';")
    (folder / "logs/spark").mkdir(parents=True)
    scan = {"nodeName": "BatchScan paimon.sales.orders", "simpleString": _SCAN, "children": []}
    plan = {"nodeName": "Filter", "simpleString": "Filter (customer#1 = ana)", "children": [scan]}
    query = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"
    event = {"Event": query, "executionId": 1, "sparkPlanInfo": plan}
    (folder / "logs/spark/application_1").write_text(f"{json.dumps(event)}\n")
    return {}


def _operations(catalog: Catalog, _folder: Path) -> dict[str, Any]:
    reset_consumer(catalog.get_table("sales.orders"), "old_job", 8)
    return {}


_MORE: Mapping[str, Callable[[Catalog, Path], dict[str, Any]]] = {
    "catalogs.md": _catalogs,
    "changelogs.md": _changelogs,
    "compaction.md": _compaction,
    "deletes-and-updates.md": _weather,
    "global-indexes.md": _events,
    "iceberg.md": _iceberg,
    "operations.md": _operations,
    "schema-evolution.md": _evolving,
    "sql.md": _sql,
    "tuning.md": _tuning,
}
