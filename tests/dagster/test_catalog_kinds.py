"""A project whose `catalog:` is not a folder: a JDBC database, a Hive metastore, Paimon's REST server."""

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

import dagster as dg
import pytest

from maintenance.catalog import Schema
from maintenance.errors import OptionError, UnsupportedError
from maintenance.project.config import Project, load_project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.discovery import discover
from paimon_maintenance.definitions import build_definitions
from tests.catalog_calls import counted
from tests.dagster.conftest import TABLES, land
from tests.java import rest_server

_SECRET = "tok"  # as Paimon's REST server of the tests wants it
_RESTED = """
patterns:
  - pattern: "shop.*"
    compaction: {trigger: 7}
"""


@pytest.fixture(
    params=["jdbc", pytest.param("hive", marks=pytest.mark.slow), pytest.param("rest", marks=pytest.mark.slow)]
)
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("CATALOG_SECRET", _SECRET)
    with rest_server.running() if request.param == "rest" else nullcontext() as java:
        options: Mapping[str, str]
        if request.param == "jdbc":
            options = {
                "metastore": "jdbc",
                "uri": f"jdbc:sqlite:{tmp_path}/catalog.db",
                "jdbc.password": "${CATALOG_SECRET}",
            }
        elif request.param == "hive":
            options = {"metastore": "hive", "uri": request.getfixturevalue("hive").uri}
        else:
            assert java is not None
            address = java.start(str(tmp_path / "warehouse"))
            options = {"metastore": "rest", "uri": address, "token.provider": "bear", "token": "${CATALOG_SECRET}"}
        lines = "\n".join(f"  {key}: {value}" for key, value in options.items())
        path = tmp_path / "tables.yaml"
        text = TABLES.replace("warehouse: warehouse", f"warehouse: {'wh' if java else 'warehouse'}\ncatalog:\n{lines}")
        path.write_text(f"{text}{_RESTED}")
        yield load_project(path, tmp_path)


def catalog_of(project: Project) -> PaimonCatalog:
    return PaimonCatalog(warehouse=project.warehouse, options=dict(project.catalog))


@pytest.mark.slow
def test_a_table_from_landing_to_expiry(project: Project) -> None:
    catalog = catalog_of(project)
    land(project, 1, 1, [(1, "new", "+I"), (2, "new", "+I")])
    land(project, 2, 2, [(1, "paid", "+U"), (3, "new", "+I")])
    definitions = build_definitions(project)
    with dg.instance_for_test() as instance:
        job = definitions.resolve_job_def("maintain_shop_orders")
        assert job.execute_in_process(instance=instance).success
        rows = catalog.get_table("shop.orders").to_arrow(columns=["id", "status"]).to_pylist()
        assert sorted((row["id"], row["status"]) for row in rows) == [(1, "paid"), (2, "new"), (3, "new")]
        assert catalog.open().list_tables("shop") == ["orders"]
        dry = definitions.resolve_job_def("compact_shop_orders").execute_in_process(
            {"ops": {"compact": {"config": {"dry_run": True}}}}, instance=instance, op_selection=["compact"]
        )
        run = instance.get_run_by_id(dry.run_id)
        assert run is not None
        is_kept = "paimon/plan_id" in run.tags
        assert is_kept == catalog.has_root(), "it is shown in any case, and kept where it has a place"
        # Nothing is left to do: the sensor looks at the table and asks for nothing.
        with dg.build_sensor_context(instance, definitions=definitions, resources={"catalog": catalog}) as context:
            assert not definitions.resolve_sensor_def("latest_snapshots").evaluate_tick(context).run_requests
    (orders,) = (t for t in discover(project, catalog).project.tables if t.identifier == "shop.orders")
    assert (orders.compaction.trigger, orders.writes_changelog) == (7, True)


# What a catalog is asked for once: its configuration, its tables in the database, all databases.
_OF_THE_CATALOG = ("GET config", "SQL on sqlite_master", "get_all_databases")
_OF_EACH_TABLE = ("GET tables", "SQL on paimon_tables", "get_table")


def test_ticks_ask_the_catalog_for_their_tables_alone(project: Project) -> None:
    catalog = catalog_of(project)
    opened = catalog.open()
    opened.drop_database("shop", ignore_if_not_exists=True, cascade=True)  # of another test on the same server
    opened.create_database("shop")
    for number in range(8):
        opened.create_table(f"shop.t{number}", Schema([("id", "INT")], options={"bucket": "-1"}))
    project = project.model_copy(update={"tables": ()})
    definitions = build_definitions(project)
    cursor = None
    with dg.instance_for_test() as instance:
        for _ in range(2):
            with (
                counted() as calls,
                dg.build_sensor_context(
                    instance, cursor, definitions=definitions, resources={"catalog": catalog}
                ) as context,
            ):
                cursor = definitions.resolve_sensor_def("latest_snapshots").evaluate_tick(context).cursor
            assert not [name for name in _OF_THE_CATALOG if calls[name]]
            assert sum(calls[name] for name in _OF_EACH_TABLE) == 8
            assert calls["connect"] <= 2


def test_where_the_bin_is(project: Project) -> None:
    catalog = catalog_of(project)
    if project.catalog["metastore"] == "rest":
        assert project.warehouse == "wh", "the name that the server knows"
        with pytest.raises(UnsupportedError, match="is a name, not a folder"):
            catalog.root()
    else:
        assert catalog.root() == project.warehouse


def test_a_secret_that_is_not_set(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = catalog_of(project)
    assert _SECRET not in project.catalog.values()
    monkeypatch.delenv("CATALOG_SECRET")
    if project.catalog["metastore"] == "hive":
        assert catalog.open().list_databases() is not None, "it has no secret"
    else:
        with pytest.raises(OptionError, match=r"\$\{CATALOG_SECRET\} is not set \(catalog: "):
            catalog.open()
