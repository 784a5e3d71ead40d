"""A small lake: a table with a primary key that two writers fill, and an append table by month."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.operations.refs.create_tag import create_tag
from tests.console_site import Site
from tests.tables import create_table, get_table, keyed

TABLES = """\
warehouse: {warehouse}
alerts: {{url: "http://dagster.test"}}
patterns:
  - pattern: "db.*"
    owners: ["team:lake"]
    retention: {{keep_at_least: 2}}
tables:
  - identifier: db.t
    description: Keys and values.
    owners: ["team:sales"]
    compaction:
      trigger: 3
    retention: {{keep_at_most: 4}}
    writers: {{till: the tills of the shops}}
"""


@pytest.fixture
def tables_yaml(tmp_path: Path) -> Path:
    path = tmp_path / "tables.yaml"
    path.write_text(TABLES.format(warehouse=tmp_path / "lake"))
    return path


@pytest.fixture
def keyed_table(tmp_path: Path) -> CatalogTable:
    """Five commits of two writers, a tag and a consumer."""
    table = create_table(tmp_path / "lake")
    for number in range(5):
        writer = "loader" if number == 2 else "till"
        table.write_arrow(keyed({number: "a", 9: "b"}), commit_user=writer, commit_identifier=number)
    create_tag(table, "kept", snapshot_id=2)
    table.consumers.record("feed", 4)
    return get_table(tmp_path / "lake")


@pytest.fixture
def by_month(tmp_path: Path) -> CatalogTable:
    """An append table with two partitions, one of them with more small files."""
    fields = (("month", "INT"), ("v", "STRING"))
    table = create_table(
        tmp_path / "lake", fields, (), {"compaction.min.file-num": "3"}, partition_keys=("month",), name="db.months"
    )
    for number in range(4):
        months = [1, 2] if number == 0 else [2]
        table.write_arrow(pa.table({"month": pa.array(months, pa.int32()), "v": ["x"] * len(months)}))
    return get_table(tmp_path / "lake", "db.months")


@pytest.fixture(scope="session")
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as instance:
        yield instance


@pytest.fixture
def site(tables_yaml: Path, keyed_table: CatalogTable, by_month: CatalogTable, instance: dg.DagsterInstance) -> Site:
    return Site(tables_yaml, instance)
