"""What earlier versions left behind is read, and gone on with, by this one: see `tests/releases/state.py`."""

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.operations.history import read_history
from maintenance.project.config import Project, load_project
from maintenance.sql.session import Session
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions

pytestmark = pytest.mark.slow

STATES = sorted((Path(__file__).parents[1] / "releases").glob("*/state.tar.xz"))


@pytest.fixture(params=STATES, ids=lambda path: path.parent.name)
def left(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """The folder that a version left, where it was: plans name files by their paths."""
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    state = tmp_path / "state"
    place = Path(json.loads((state / "expected.json").read_text())["folder"])
    shutil.rmtree(place, ignore_errors=True)
    shutil.move(state, place)
    yield place
    shutil.rmtree(place)


@pytest.fixture
def expected(left: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((left / "expected.json").read_text())
    return found


@pytest.fixture
def project(left: Path) -> Project:
    return load_project(left / "tables.yaml")


def catalog_of(project: Project) -> PaimonCatalog:
    return PaimonCatalog(warehouse=project.warehouse, options=project.catalog, history=project.history)


def test_tables_are_read_and_written(project: Project, expected: dict[str, Any]) -> None:
    catalog = catalog_of(project)
    assert {name: catalog.get_table(f"shop.{name}").to_arrow().num_rows for name in expected["rows"]} == expected[
        "rows"
    ]
    sums = catalog.get_table("shop.sums")
    sums.write_arrow(pa.table({"k": pa.array([1], pa.int32()), "n": [5]}), commit_user="web")
    Session({"warehouse": project.warehouse}).sql("CALL sys.compact(table => 'shop.sums', compact_strategy => 'full')")
    assert sorted(row["n"] for row in sums.to_arrow().to_pylist()) == [35, 60]


@pytest.mark.parametrize("operation", ["compact", "create_tag", "drop_partition", "expire_snapshots"])
def test_a_kept_plan_is_applied(project: Project, expected: dict[str, Any], operation: str) -> None:
    session, catalog = Session({"warehouse": project.warehouse}), catalog_of(project)
    session.apply(expected["plans"][operation])
    sums = catalog.get_table("shop.sums")
    visits = catalog.get_table("shop.visits").latest_snapshot()
    assert visits is not None
    held = {
        "compact": visits.commit_kind.value == "COMPACT",
        "create_tag": "later" in sums.tags.all(),
        "drop_partition": set(catalog.get_table("shop.orders").to_arrow()["day"].to_pylist()) == {"tue"},
        "expire_snapshots": len(sums.snapshots.list_ids()) == 1,
    }
    assert [name for name, holds in held.items() if holds] == [operation]
    assert sums.to_arrow().num_rows == expected["rows"]["sums"]


def test_what_lies_in_the_bin_comes_back(project: Project) -> None:
    visits = catalog_of(project).get_table("shop.visits")
    before = visits.snapshots.list_ids()
    (run,) = (path.name for path in Path(project.warehouse, "_maintenance/bin").iterdir())
    Session({"warehouse": project.warehouse}).sql(f"CALL sys.restore(table => 'shop.visits', run => '{run}')")
    assert len(visits.snapshots.list_ids()) > len(before)


def test_dagster_goes_on_with_its_cursors_and_history(project: Project, left: Path) -> None:
    definitions: Any = build_definitions(project)
    catalog = catalog_of(project)
    history = catalog.history_of("shop.orders") or ""
    told = len(read_history(catalog.open(), history, "shop.orders"))
    assert told > 3
    with dg.DagsterInstance.local_temp(str(left / "home")) as instance:
        assert {run.status for run in instance.get_runs()} == {dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE}
        assert instance.get_latest_materialization_event(keys.asset_key("shop.orders")) is not None
        for kept in sorted(left.glob("*.cursor")):
            with dg.build_sensor_context(
                instance, kept.read_text() or None, definitions=definitions, resources={"catalog": catalog}
            ) as context:
                data = definitions.resolve_sensor_def(kept.stem).evaluate_tick(context)
            # What was judged then is not judged again, and nothing that was reported is told again.
            assert not data.run_requests or kept.stem == keys.LATEST_SENSOR
        everything = definitions.resolve_implicit_global_asset_job_def()
        assert everything.execute_in_process(asset_selection=[keys.asset_key("shop.orders")], instance=instance).success
    assert len(read_history(catalog.open(), history, "shop.orders")) > told
