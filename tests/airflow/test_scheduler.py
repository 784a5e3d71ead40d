"""A real scheduler, triggerer and API server run the DAGs of a tables.yaml, a sensor, and a plan that is approved."""

import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.catalog import open_catalog
from maintenance.operations.history import read_history
from tests.airflow.conftest import ENVIRONMENT, PROJECT, Airflow, airflow_of, running
from tests.unit.cli.schedulers import four_small_files

pytestmark = pytest.mark.slow
SECRET = "a-secret-of-the-store"
_MOST_SECONDS = 150
_WAITS = "event with state success for task instance TaskInstanceKey(dag_id='approved', task_id='{}'"
TABLES = """
warehouse: {lake}
alerts: [{{to: "http://127.0.0.1:{alerts}/told"}}]
tables:
  - identifier: shop.orders
    columns: {{id: INT NOT NULL, v: STRING}}
    primary_keys: [id]
    options: {{bucket: 1, write-only: true, changelog-producer: lookup}}
    index_columns: {{bloom_filter: [v]}}
    compaction: {{trigger: 2}}
    tag: {{name: "kept-{{snapshot}}", time_retained: 1 d}}
    retention: {{keep_at_most: 1, keep_at_least: 1}}
    orphans: {{minimum_age: 1 d}}
    landing: {{path: {landing}, commit_user: feed}}
  - identifier: default.gone
"""


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def until(done: Callable[[], Any], log: Path) -> Any:
    """What `done` says once it says something."""
    end = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < end:
        said = done()
        if said:
            return said
        time.sleep(0.5)
    raise AssertionError(log.read_text()[-8000:])


@pytest.fixture
def told() -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """A receiver of alerts: its port, and what it was sent."""
    bodies: list[dict[str, Any]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], bodies
    server.shutdown()
    server.server_close()


class Api:
    """Airflow's own API, as an administrator."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.token = ""

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(
            urllib.request.Request(self.address + path, data, headers, method=method)
        ) as answer:
            return json.loads(answer.read() or b"null")

    def is_there(self) -> bool:
        try:
            self.token = self("GET", "/auth/token")["access_token"]
        except OSError:
            return False
        return True

    def start(self, dag: str) -> str:
        run: str = self("POST", f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None})["dag_run_id"]
        return run


@pytest.mark.usefixtures("environment")
def test_a_day_of_tables(tmp_path: Path, told: tuple[int, list[dict[str, Any]]]) -> None:
    lake, landing = tmp_path / "lake", tmp_path / "landing"
    landing.mkdir()
    session = four_small_files(lake)
    for number in range(3):
        rows = pa.table({"id": pa.array([number, 9], pa.int32()), "v": [str(number), "x"]})
        pq.write_table(rows, landing / f"1-batch-{number + 1}.parquet")
    file = tmp_path / "tables.yaml"
    file.write_text(TABLES.format(lake=lake, landing=landing, alerts=told[0]))
    port = free_port()
    connection = {"conn_type": "generic", "password": SECRET, "extra": {"warehouse": str(lake)}}
    airflow = airflow_of(
        tmp_path / "airflow",
        PROJECT / "tests/airflow/dags",
        PAIMON_TABLES=str(file),
        AIRFLOW_CONN_LAKE=json.dumps(connection),
        AIRFLOW__API__PORT=str(port),
        AIRFLOW__API__HOST="127.0.0.1",
        AIRFLOW__API__BASE_URL=f"http://127.0.0.1:{port}",
        AIRFLOW__CORE__EXECUTION_API_SERVER_URL=f"http://127.0.0.1:{port}/execution/",
        AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS="true",
        AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION="false",
        AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK="false",
        AIRFLOW__TRIGGERER__ENABLE_HEALTH_CHECK="false",
        AIRFLOW__API__WORKERS="1",
        AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL="600",
    )
    pools = subprocess.run(
        [str(ENVIRONMENT / "bin" / "python"), "-m", "paimon_maintenance.operators", str(file)],
        env=airflow.variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    (tmp_path / "pools.json").write_text(pools.stdout)
    airflow("pools", "import", str(tmp_path / "pools.json"))
    with running(airflow, tmp_path / "airflow.log") as log:
        api = Api(port)
        until(api.is_there, log)
        until(lambda: len(airflow.ask("SELECT dag_id FROM dag WHERE is_stale = 0")) >= 4, log)
        for dag in ("paimon_shop.orders", "paimon_default.gone", "approved"):
            api.start(dag)
        # The sensor waits for a table that is not there; the triggerer has it, and no worker.
        until(lambda: airflow.states("approved").get("wait") == "deferred", log)
        # Airflow takes a task for failed that goes on before the scheduler has heard that it waits.
        until(lambda: _WAITS.format("wait") in log.read_text(), log)
        session.sql("CREATE TABLE later (a INT)")
        session.sql("INSERT INTO later VALUES (1)")
        until(lambda: airflow.states("approved").get("approve") in ("awaiting_input", "deferred"), log)
        assert {name: airflow.xcom("approved", "wait")[name] for name in ("snapshot_id", "since")} == {
            "snapshot_id": 1,
            "since": 0,
        }
        ((run,),) = airflow.ask("SELECT run_id FROM dag_run WHERE dag_id = 'approved'")
        asked = f"/api/v2/dags/approved/dagRuns/{run}/taskInstances/approve/-1/hitlDetails"
        assert "4 files" in api("GET", asked)["body"]
        # A person is slower than the worker, which still has to say that it waits.
        until(lambda: _WAITS.format("approve") in log.read_text(), log)
        api("PATCH", asked, {"chosen_options": ["Approve"], "params_input": {}})
        until(lambda: airflow.states("approved").get("apply") == "success", log)
        until(lambda: _ended(airflow, "paimon_shop.orders") and _ended(airflow, "paimon_default.gone"), log)
        until(lambda: told[1], log)
    catalog = open_catalog({"warehouse": str(lake)})
    assert airflow.states("paimon_shop.orders") == {
        "ingest_landed": "success",
        "compact": "success",
        "produce_changelog": "skipped",
        "rewrite_file_index": "success",
        "create_tag": "success",
        "expire_snapshots": "success",
        "expire_tags": "skipped",
        "remove_orphan_files": "skipped",
    }
    # The history has a row of each step that has done something, and the approval stands beside the plan.
    history = {row["operation"]: row for row in read_history(catalog, "_maintenance.history", "shop.orders")}
    assert set(history) == {"ingest", "compact", "file_index", "tag", "expire_snapshots"}
    assert history["compact"]["run_id"].startswith("airflow:paimon_shop.orders/")
    assert history["compact"]["files_before"] >= history["compact"]["files_after"] == 1
    (approval,) = (lake / "_maintenance/approvals").iterdir()
    assert approval.stem == airflow.xcom("approved", "plan")
    assert json.loads(approval.read_text())["name"] == "Anonymous"
    assert airflow.states("paimon_default.gone")["compact"] == "failed"
    (alert,) = told[1]
    assert (alert["tables"], alert["state"], alert["opened_in"]) == (["default.gone"], "failed", "Airflow")
    assert "default.gone" in alert["summary"]
    table = catalog.get_table("shop.orders")
    assert sorted(row["id"] for row in table.to_arrow().to_pylist()) == [0, 1, 2, 9]
    assert session.sql("SELECT COUNT(*) AS n FROM `t$files`").to_arrow().to_pylist() == [{"n": 1}]
    assert ("paimon://shop/orders",) in airflow.ask("SELECT uri FROM asset a JOIN asset_event e ON e.asset_id = a.id")
    left = [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert left == []


def _ended(airflow: Airflow, dag: str) -> bool:
    return airflow.ask(f"SELECT state FROM dag_run WHERE dag_id = '{dag}'")[0][0] in ("success", "failed")
