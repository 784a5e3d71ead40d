"""A small project on a warehouse of its own, with one primary key table and one append table."""

import http.server
import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.remote_origin import (
    ManagedGrpcPythonEnvCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, SensorInstigatorData
from dagster._core.storage.defs_state.base import set_defs_state_storage
from dagster._core.storage.event_log.sqlite import SqliteEventLogStorage, sqlite_event_log
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.schedules.sqlite import sqlite_schedule_storage
from dagster._core.types.loadable_target_origin import LoadableTargetOrigin
from sqlalchemy import Engine, QueuePool, create_engine
from sqlalchemy.event import listens_for

from maintenance.project.config import Project, load_project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions

TABLES = """
warehouse: warehouse
spark:
  options:  # a Java that starts fast
    spark.driver.extraJavaOptions: -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
    spark.sql.codegen.wholeStage: false
    spark.sql.shuffle.partitions: 2
expiry: {cron: 30 2 * * *, time_zone: Europe/Berlin}
tables:
  - identifier: shop.orders
    description: Orders by number.
    owners: [team:sales]
    columns: {id: BIGINT NOT NULL, status: STRING, amount: "DECIMAL(9, 2)"}
    primary_keys: [id]
    options:
      bucket: 1
      write-only: true
      changelog-producer: full-compaction
      file-index.bloom-filter.columns: status
      num-sorted-run.compaction-trigger: 3
      snapshot.num-retained.min: 1
      snapshot.num-retained.max: 2
    landing: {path: landing/orders, commit_user: shop, row_kind_column: kind}
    tag: {name: "kept-{snapshot}", time_retained: 7 d}
  - identifier: shop.visits
    columns: {page: STRING, seconds: INT}
    options: {bucket: -1}
"""


# Dagster keeps what a step prints by four processes, and waits a minute for them in a thread beside the tests' own.
WITHOUT_OUTPUT = {
    "compute_logs": {"module": "dagster._core.storage.noop_compute_log_manager", "class": "NoOpComputeLogManager"}
}


@listens_for(Engine, "connect")
def leave_it_to_the_system(connection: object, _: object) -> None:
    """The databases of Dagster's instances do not wait for the disk: each step of a run would do so dozens of times."""
    if isinstance(connection, sqlite3.Connection):
        connection.execute("PRAGMA synchronous = OFF").close()


@pytest.fixture(scope="session", autouse=True)
def _migrations_loaded_once() -> Iterator[None]:
    """Each run has a new database. To mark it with its version Alembic loads a hundred migrations and orders them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptDirectory, "from_config", keeping_scripts(ScriptDirectory.from_config))
        yield


def keeping_scripts(load: Callable[[Config], ScriptDirectory]) -> Callable[[Config], ScriptDirectory]:
    """The same, but what is loaded from a folder is kept."""
    kept: dict[str | None, ScriptDirectory] = {}

    def scripts_of(config: Config) -> ScriptDirectory:
        folder = config.get_main_option("script_location")
        if folder not in kept:
            kept[folder] = load(config)
        return kept[folder]

    return scripts_of


@pytest.fixture(scope="session", autouse=True)
def _engines_kept() -> Iterator[None]:
    """Dagster makes an engine of SQLAlchemy for each connection to SQLite, which compiles every statement again."""
    kept = KeptEngines(create_engine)
    with pytest.MonkeyPatch.context() as patch:
        for module in (sqlite_event_log, sqlite_run_storage, sqlite_schedule_storage):
            patch.setattr(module, "create_engine", kept.engine_of)
        yield
    kept.close()


class KeptEngines:
    """Gives the engine that was made for a database before, with the connections that it has.

    SQLite puts its log into the database and removes it when the last connection is closed, and reads the schema for
    each that is opened: both take longer than the event of a step that is written between them.
    """

    def __init__(self, make: Callable[..., Engine], most: int = 16) -> None:
        self._make, self._most = make, most
        # With the number of the file: one that was removed and made again is another database.
        self._kept: dict[str, tuple[Engine, int | None]] = {}

    def engine_of(self, url: str, **options: Any) -> Engine:
        engine, file = self._kept.pop(url, (None, None))
        if engine is not None and file not in (None, _file_of(engine)):
            Engine.dispose(engine)
            engine = None
        if engine is None:
            engine = self._make(url, **{**options, "poolclass": QueuePool})
            engine.dispose = lambda *_, **__: None  # type: ignore[method-assign] # Dagster does so after each use
        self._kept[url] = (engine, _file_of(engine))
        while len(self._kept) > self._most:
            oldest, _ = self._kept.pop(next(iter(self._kept)))
            Engine.dispose(oldest)
        return engine

    def close(self) -> None:
        for engine, _ in self._kept.values():
            Engine.dispose(engine)
        self._kept.clear()


def _file_of(engine: Engine) -> int | None:
    try:
        return Path(str(engine.url.database)).stat().st_ino
    except FileNotFoundError:
        return None


@pytest.fixture(scope="session", autouse=True)
def _run_databases_copied() -> Iterator[None]:
    """The events of each run are in a database of their own. That of the first one, still empty, is copied."""
    make, empty = SqliteEventLogStorage._initdb, dict[bool, bytes]()

    def copied(storage: SqliteEventLogStorage, engine: Engine, for_index_shard: bool = False) -> None:
        database = Path(str(engine.url.database))
        if not database.exists() and for_index_shard in empty:
            database.write_bytes(empty[for_index_shard])
            return
        is_new = not database.exists()
        make(storage, engine, for_index_shard)
        if is_new:
            with closing(sqlite3.connect(database)) as connection:
                empty[for_index_shard] = connection.serialize()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteEventLogStorage, "_initdb", copied)
        yield


@pytest.fixture(autouse=True)
def _no_instance_is_left() -> Iterator[None]:
    """Dagster remembers the instance that was entered last, also one that has gone since."""
    with set_defs_state_storage(None):
        yield


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an instance that has no runs: its databases are made once."""
    home = tmp_path_factory.mktemp("dagster")
    with dg.instance_for_test(temp_dir=str(home)):
        return home


@pytest.fixture
def project(tmp_path: Path) -> Project:
    path = tmp_path / "tables.yaml"
    path.write_text(TABLES)
    return load_project(path, tmp_path)


@pytest.fixture
def instance(empty_home: Path) -> Iterator[dg.DagsterInstance]:
    with TemporaryDirectory(ignore_cleanup_errors=True) as home:
        shutil.copytree(empty_home, home, ignore=shutil.ignore_patterns("*-shm"), dirs_exist_ok=True)
        with dg.instance_for_test(WITHOUT_OUTPUT, temp_dir=home) as instance:
            yield instance


def land(project: Project, delivery: int, batch: int, rows: list[tuple[int, str, str]]) -> None:
    """Deliver a batch of orders: (id, status, row kind), each with the amount id + 0.5."""
    table = pa.table(
        {
            "id": pa.array([row[0] for row in rows], pa.int64()),
            "status": [row[1] for row in rows],
            "amount": pa.array([row[0] + 0.5 for row in rows]).cast(pa.decimal128(9, 2)),
            "kind": [row[2] for row in rows],
        }
    )
    landing = project.tables[0].landing
    assert landing is not None
    Path(landing.path).mkdir(parents=True, exist_ok=True)
    pq.write_table(table, Path(landing.path) / f"{delivery:05d}-batch-{batch:05d}.parquet")


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps what is posted; answers 503 while it is `down`."""

    received: list[dict[str, Any]]
    down = False

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        down = type(self).down
        # Kept before it is answered: the sender goes on as soon as it has the answer, and the test looks.
        if not down:
            self.received.append(json.loads(body))
        self.send_response(503 if down else 200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        """Tests are quiet."""


@contextmanager
def receiving() -> Iterator[tuple[str, type[Receiver]]]:
    handler = type("Kept", (Receiver,), {"received": [], "down": False})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/hook", handler
        server.shutdown()


@pytest.fixture
def receiver() -> Iterator[tuple[str, type[Receiver]]]:
    with receiving() as actual:
        yield actual


@pytest.fixture
def second() -> Iterator[tuple[str, type[Receiver]]]:
    with receiving() as actual:
        yield actual


# The newest ones that were made, each with its project.
_MADE: list[tuple[Project, dg.Definitions]] = []


def definitions_of(project: Project) -> dg.Definitions:
    """The definitions of a project, which are made once, as when a code location is loaded.

    Those of patterns are made each time: the tables that they find may be others.
    """
    for known, definitions in _MADE:
        if known is project and not project.patterns:
            return definitions
    _MADE[:] = [*_MADE[-3:], (project, build_definitions(project))]
    return _MADE[-1][1]


def state_of(name: str, ticked: float, location: str = "here") -> InstigatorState:
    """A sensor of a code location that is on. `ticked`: when it last did, seconds since 1970."""
    target = LoadableTargetOrigin(python_file="definitions.py")
    origin = RemoteRepositoryOrigin(ManagedGrpcPythonEnvCodeLocationOrigin(target, location), "__repository__")
    data = SensorInstigatorData(last_tick_timestamp=ticked, min_interval=30)
    running = InstigatorStatus.RUNNING
    return InstigatorState(RemoteInstigatorOrigin(origin, name), InstigatorType.SENSOR, running, data)


def remembering(instance: dg.DagsterInstance, sensor: str, cursor: str) -> None:
    """What a sensor leaves to its next tick, in an instance where it has not ticked yet."""
    state = state_of(sensor, time.time())
    instance.add_instigator_state(state.with_data(SensorInstigatorData(time.time(), cursor=cursor)))


def switch_on(instance: dg.DagsterInstance, sensor: str) -> None:
    """Switch a sensor on, as a person does in the UI."""
    instance.add_instigator_state(state_of(sensor, time.time()))


def checks_of(data: Any) -> list[dg.AssetCheckEvaluation]:
    """The checks that a tick has reported."""
    return [event for event in data.asset_events if isinstance(event, dg.AssetCheckEvaluation)]


def evaluate(
    project: Project,
    instance: dg.DagsterInstance,
    sensor: str,
    cursor: str | None = None,
    definitions: dg.Definitions | None = None,
) -> Any:
    """One tick, as the daemon does it: what it reports is stored. `definitions`: those of the project, if known."""
    definitions = definitions or definitions_of(project)
    resources = {"catalog": PaimonCatalog(warehouse=project.warehouse)}
    with dg.build_sensor_context(instance, cursor, definitions=definitions, resources=resources) as context:
        data = definitions.resolve_sensor_def(sensor).evaluate_tick(context)
    for event in data.asset_events:
        instance.report_runless_asset_event(event)
    return data
