"""deploy/: its services as processes on this machine, by the commands and variables of the compose file.

What the image and the network of containers would give is put in its place: addresses, ports, folders, and a store.
"""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyspark
import pytest
import yaml
from dagster_graphql import DagsterGraphQLClient

from maintenance.catalog import open_catalog
from maintenance.project.config import load_project
from tests.servers import s3 as s3_server
from tests.servers.postgresql import PostgreSQL
from tests.servers.processes import free_port

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SECRETS = {"DAGSTER_PG_PASSWORD": "", "LAKE_KEY": "lake-key", "LAKE_SECRET": "lake-secret"}
JOB = "maintain_shop_orders"
SECONDS = 240
_REQUIRED = re.compile(r"\$\{(\w+)(?::\?[^}]*)?\}")


def test_each_file_of_it_is_sound(tmp_path: Path) -> None:
    """What needs no server: the files name one another, and no service is open to other machines."""
    services = COMPOSE["services"]
    example = dict(line.split("=") for line in (DEPLOY / "example.env").read_text().splitlines() if line[:1] not in "#")
    assert {name for text in yaml.safe_dump(COMPOSE).splitlines() for name in _REQUIRED.findall(text)} == set(example)
    for service in services.values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
        assert set(service.get("depends_on", ())) <= set(services)
        assert service["restart"] == "unless-stopped"
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    for name in re.findall(r"[\w-]+\.txt|deploy/[\w.]+", dockerfile):
        assert (DEPLOY.parent / name).exists(), name
    (code,) = yaml.safe_load((DEPLOY / "workspace.yaml").read_text())["load_from"]
    assert code["grpc_server"]["host"] == "code"
    assert str(code["grpc_server"]["port"]) in services["code"]["command"]
    (tmp_path / "tables.yaml").write_text((DEPLOY / "tables.yaml").read_text())
    assert load_project(tmp_path / "tables.yaml").tables


@dataclass
class Services:
    """Those that run. `places`: what an address or port of the compose file is here."""

    folder: Path
    places: dict[str, str]
    variables: dict[str, str]
    stack: ExitStack
    running: dict[str, list[subprocess.Popen[bytes]]] = field(default_factory=dict)

    def placed(self, text: str) -> str:
        """With the addresses of this machine."""
        for name, place in self.places.items():
            text = text.replace(name, place)
        return text

    def here(self, text: str) -> str:
        """With the secrets, too, as compose puts them into variables and commands."""
        text = self.placed(text)
        return _REQUIRED.sub(lambda found: self.variables[found[1]], text)

    def start(self, name: str) -> subprocess.Popen[bytes]:
        """One more process of a service."""
        service = COMPOSE["services"][name]
        command = [self.here(word) for word in service["command"]]
        for place, word in enumerate(command):
            if word == "--host":
                command[place + 1] = "127.0.0.1"
            if word in ("--port", "--webui-port"):
                command[place + 1] = self.places[f":{command[place + 1]}"][1:]
        own = {key: self.here(str(value)) for key, value in service.get("environment", {}).items()}
        bins = [Path(sys.executable).parent, Path(pyspark.__path__[0]) / "bin"]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_", "DAGSTER_", "PAIMON_"))}
        environment = {
            **kept,
            "PATH": os.pathsep.join([*map(str, bins), os.environ["PATH"]]),
            "DAGSTER_HOME": str(self.folder),
            "PAIMON_TABLES": str(self.folder / "tables.yaml"),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            **own,
            **({"DAGSTER_LOGS": str(self.folder / "logs")} if "DAGSTER_LOGS" in own else {}),
        }
        number = len(self.running.setdefault(name, []))
        with (self.folder / f"{name}-{number}.log").open("wb") as log:
            process = subprocess.Popen(command, env=environment, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT)
        self.running[name].append(process)
        self.stack.callback(_ended, process)
        return process

    def said(self) -> str:
        return "\n".join(f"== {path.name}\n{path.read_text()[-1500:]}" for path in sorted(self.folder.glob("*.log")))


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture
def services(postgresql: PostgreSQL, tmp_path: Path) -> Iterator[Services]:
    database = postgresql.new_database()
    address = urlsplit(database["uri"].removeprefix("jdbc:"))
    with ExitStack() as stack:
        s3 = stack.enter_context(s3_server.running_apart())
        s3.client().create_bucket(Bucket="lake")
        for number in range(3):
            lines = "".join(
                json.dumps({"id": i, "status": f"s{number}", "amount": f"{i}.5"}) + "\n"
                for i in range(number, number + 50)
            )
            s3.client().put_object(
                Bucket="lake", Key=f"landing/orders/{number:05d}-batch-{number:05d}.json", Body=lines
            )
        places = {f":{port}": f":{free_port()}" for port in ("7077", "8080", "4000", "3000", "3001")}
        places |= {":9000": f":{urlsplit(s3.url).port}", ":5432": f":{address.port}"}
        for name in COMPOSE["services"]:
            places |= {f"//{name}:": "//127.0.0.1:", f"host: {name}\n": "host: 127.0.0.1\n"}
        places["port: 4000"] = f"port: {places[':4000'][1:]}"
        places["/etc/paimon"] = str(tmp_path)
        variables = {**SECRETS, "DAGSTER_PG_PASSWORD": database["jdbc.password"]}
        made = Services(tmp_path, places, variables, stack)
        for name in ("dagster.yaml", "workspace.yaml", "tables.yaml"):
            text = (DEPLOY / name).read_text()
            (tmp_path / name).write_text(text if name == "dagster.yaml" else made.placed(text))
        # The database has another name and owner here.
        for service in COMPOSE["services"].values():
            found = service.get("environment", {})
            if "DAGSTER_PG_HOST" in found:
                found |= {"DAGSTER_PG_HOST": "127.0.0.1", "DAGSTER_PG_PORT": str(address.port)}
                found |= {"DAGSTER_PG_DB": address.path.strip("/"), "DAGSTER_PG_USER": database["jdbc.user"]}
        yield made


def answers(address: str) -> bool:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return bool(answer.status == 200)


def eventually(services: Services, what: str, test: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            found = test()
        except Exception:  # noqa: BLE001 - a server that does not answer yet
            found = None
        if found:
            return found
        time.sleep(0.5)
    raise AssertionError(f"{what}\n{services.said()}")


@pytest.mark.slow
def test_a_run_ends_though_a_worker_and_the_daemon_die(services: Services) -> None:
    for name in ("spark-master", "spark-worker", "spark-worker", "code", "webserver", "daemon", "console"):
        services.start(name)
    web = f"http://127.0.0.1{services.places[':3000']}"
    client = DagsterGraphQLClient("127.0.0.1", port_number=int(services.places[":3000"][1:]))
    eventually(services, "the web server answers", lambda: answers(f"{web}/server_info"))

    def launched() -> str:
        return client.submit_job_execution(JOB)

    def status(run: str) -> str:
        return str(client.get_run_status(run).value)

    run = eventually(services, "a run is taken", launched)
    eventually(services, "the run starts", lambda: status(run) in ("STARTED", "SUCCESS", "FAILURE"))
    services.running["spark-worker"][0].kill()
    services.running["daemon"][0].kill()
    # As `restart: unless-stopped` does.
    services.start("daemon")
    ended = eventually(services, "the run ends", lambda: (found := status(run)) in ("SUCCESS", "FAILURE") and found)
    assert ended == "SUCCESS", services.said()
    again = eventually(services, "another run is taken", launched)
    eventually(services, "the restarted daemon launches it", lambda: status(again) == "SUCCESS")
    project = load_project(services.folder / "tables.yaml")
    s3 = f"http://127.0.0.1{services.places[':9000']}"
    keys = {"s3.access-key": SECRETS["LAKE_KEY"], "s3.secret-key": SECRETS["LAKE_SECRET"]}
    catalog = open_catalog({"warehouse": project.warehouse, "s3.endpoint": s3, "s3.path.style.access": "true", **keys})
    table = catalog.get_table("shop.orders")
    assert {row["id"]: row["status"] for row in table.to_arrow().to_pylist()} == {
        i: "s0" if i < 1 else "s1" if i < 2 else "s2" for i in range(52)
    }
    page = f"http://127.0.0.1{services.places[':3001']}/tables/shop.orders"
    assert eventually(services, "the console answers", lambda: answers(page))
