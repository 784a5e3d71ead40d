"""What a version leaves behind. By that version: ``python -m tests.releases.state tests/releases/X.Y.Z/state.tar.xz``.

A warehouse with tables of several kinds, plans that are kept and not applied, a bin, the history, and Dagster's storage
with runs, checks and cursors of sensors. `tests/dagster/test_upgrades.py` takes it over with the code of today.
"""

import json
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg
import pyarrow as pa

from maintenance.catalog import Schema
from maintenance.operations import compact, create_tag
from maintenance.project.config import load_project
from maintenance.sql.plans import keep_plan
from maintenance.sql.session import Session
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions

SENSORS = (keys.LATEST_SENSOR, "check_radar", "partition_mirror", "alerts")
TABLES = """
warehouse: {folder}/warehouse
spark: {{engine: embedded}}
tables:
  - identifier: shop.orders
    columns: {{id: BIGINT NOT NULL, day: STRING NOT NULL, v: STRING}}
    primary_keys: [id, day]
    partition_keys: [day]
    options: {{bucket: 1, write-only: true, changelog-producer: lookup, file-index.bloom-filter.columns: v}}
    landing: {{path: {folder}/landing, commit_user: shop, format: json}}
    tag: {{name: "kept-{{snapshot}}", time_retained: 3650 d}}
    bin: {{window: 3650 d}}
  - identifier: shop.visits
    columns: {{page: STRING, seconds: INT}}
    options: {{bucket: -1}}
"""
DAYS = ("mon", "tue")
# Plans that are kept. None of them changes what another one is about.
PLANNED = {
    "compact": "CALL sys.compact(table => 'shop.visits', compact_strategy => 'full')",
    "create_tag": "CALL sys.create_tag(table => 'shop.sums', tag => 'later')",
    "drop_partition": "CALL sys.drop_partition('shop.orders', 'day=mon')",
    "expire_snapshots": "CALL sys.expire_snapshots(table => 'shop.sums', retain_max => 1, retain_min => 1)",
}


def leave(folder: Path) -> None:
    """Work on a new project in `folder` as its users would."""
    for name in ("landing", "home"):
        (folder / name).mkdir()
    (folder / "tables.yaml").write_text(TABLES.format(folder=folder))
    for number in range(3):
        lines = [f'{{"id": {i}, "day": "{DAYS[i % 2]}", "v": "{number}"}}\n' for i in range(number, number + 10)]
        (folder / "landing" / f"{number:05d}-batch-{number:05d}.json").write_text("".join(lines))
    project = load_project(folder / "tables.yaml", folder)
    definitions: Any = build_definitions(project)
    catalog = PaimonCatalog(warehouse=project.warehouse, options=project.catalog, history=project.history)
    visits = catalog.get_or_create(project.tables[1])
    for number in range(6):
        rows = {"page": ["a", "b"], "seconds": pa.array([number, 1], pa.int32())}
        visits.write_arrow(pa.table(rows), commit_user="web")
    _sums(catalog)
    with dg.DagsterInstance.local_temp(str(folder / "home")) as instance:
        _runs(folder, definitions, catalog, instance)
    session = Session({"warehouse": project.warehouse}, makes_default=False)
    # An expiry of visits goes into the bin.
    expiry = session.plan("CALL sys.expire_snapshots(table => 'shop.visits', retain_max => 2, retain_min => 1)")
    session.apply(expiry, into_bin=True)
    plans = {name: keep_plan(session, session.plan(text)) for name, text in PLANNED.items()}
    opened = catalog.open()
    rows_of = {name: opened.get_table(f"shop.{name}").to_arrow().num_rows for name in ("orders", "visits", "sums")}
    (folder / "expected.json").write_text(json.dumps({"plans": plans, "rows": rows_of, "folder": str(folder)}))


def _sums(catalog: PaimonCatalog) -> None:
    """A table with deletion vectors and another merge engine."""
    options = {"bucket": "2", "merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
    columns = [("k", "INT NOT NULL"), ("n", "BIGINT")]
    opened = catalog.open()
    opened.create_table(
        "shop.sums", Schema(columns, primary_keys=["k"], options={**options, "deletion-vectors.enabled": "true"})
    )
    sums = opened.get_table("shop.sums")
    for _ in range(3):
        sums.write_arrow(pa.table({"k": pa.array([1, 2], pa.int32()), "n": [10, 20]}), commit_user="web")
    compact(None, sums, full=True)


def _runs(folder: Path, definitions: Any, catalog: PaimonCatalog, instance: dg.DagsterInstance) -> None:
    """A run that does all, one that fails, and a tick of each sensor."""
    everything = definitions.resolve_implicit_global_asset_job_def()
    asset = keys.asset_key("shop.orders")
    assert everything.execute_in_process(asset_selection=[asset], instance=instance).success
    orders = catalog.get_table("shop.orders")
    late = {"id": [1, 3], "day": ["tue", "tue"], "v": ["late", "late"]}
    orders.write_arrow(pa.table(late), commit_user="other")
    create_tag(orders, "before-expiry")
    nonsense = folder / "landing" / "nonsense"
    nonsense.write_text("")
    assert not everything.execute_in_process(asset_selection=[asset], instance=instance, raise_on_error=False).success
    nonsense.unlink()
    for sensor in SENSORS:
        with dg.build_sensor_context(instance, definitions=definitions, resources={"catalog": catalog}) as context:
            data = definitions.resolve_sensor_def(sensor).evaluate_tick(context)
        (folder / f"{sensor}.cursor").write_text(data.cursor or "")


if __name__ == "__main__":
    with TemporaryDirectory(prefix="paimon-state-") as made:
        leave(Path(made))
        with tarfile.open(sys.argv[1], "w:xz") as archive:
            archive.add(made, "state")
