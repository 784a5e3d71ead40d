"""The Spark session that the steps of a run share.

`master` starts a Spark of the run's own, on this machine or on a standalone cluster (``spark://``); `remote` is
a Spark Connect server. Where neither is said and the parent of all runs (`make ui`) has started a server, runs use
that; a run whose settings that server cannot take, or that does not find it, starts its own Spark and says so.
"""

import atexit
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field, PrivateAttr

from assets import keys
from assets.project.config import LOCAL_MASTER, SPARK_ACTIONS, Project
from maintenance.errors import (
    InfrastructureError,
    OptionError,
)

LOG4J = Path(__file__).resolve().with_name("log4j2.properties")
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# A run's own UI takes any free port: many runs may be at work.
_OWN_DEFAULTS = {"spark.ui.enabled": "true", "spark.ui.port": "0"}
_CACHED: dict[tuple[str, str | None, tuple[tuple[str, str], ...]], Any] = {}


class Spark(dg.ConfigurableResource):
    """A Spark session, started when a step first needs it, shared by the run's steps and closed when the run ends."""

    master: str = Field(default=LOCAL_MASTER, description="Spark's master URL; local[*] uses this machine's cores.")
    remote: str | None = Field(default=None, description="A Spark Connect server, sc://host:port, instead of a master.")
    options: dict[str, str] = Field(default={}, description="More of Spark's options; they win over the project's.")
    jobs: dict[str, dict[str, str]] = Field(
        default={}, description=f"Options of some jobs, over `options`: {', '.join(SPARK_ACTIONS)}."
    )
    tables: dict[str, dict[str, str]] = Field(default={}, description="Options of some tables, over those of the job.")
    run_options: dict[str, str] = Field(default={}, description="Options of this run, over all others.")

    _run: dg.DagsterRun | None = PrivateAttr(default=None)
    _serves: tuple[str, str | None] | None = PrivateAttr(default=None)
    _log: Any = PrivateAttr(default=None)
    _session: Any = PrivateAttr(default=None)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Learn which run this is. Called by Dagster."""
        self._run, self._log = context.run, context.log

    def settings(self) -> dict[str, str]:
        """The options of this run: the project's, its job's, its table's, its own; each over the one before.

        Raises: OptionError: options for a job that there is not.
        """
        unknown = sorted(set(self.jobs) - set(SPARK_ACTIONS))
        if unknown:
            fix = f"Name one of {', '.join(SPARK_ACTIONS)}."
            raise OptionError(f"no job '{unknown[0]}' uses Spark", "resource spark, jobs", fix)
        action, table = self._serves or (of_run(self._run) if self._run else (None, None))
        job, own = self.jobs.get(action or "", {}), self.tables.get(table or "", {})
        return {**self.options, **job, **own, **self.run_options}

    def serve(self, action: str, table: str | None) -> None:
        """Say what the run does where that is known only once it has begun: as in `jobs`, and its single table."""
        self._serves = (action, table)

    def session(self) -> Any:
        """The session of this run; a new one if its Spark was lost.

        Raises: OptionError; InfrastructureError: no Connect server is at `remote`.
        """
        if self._session is not None and _forget_lost():
            self._session = None
            self._say("Spark was lost: a new one is started.")
        if self._session is None:
            self._session = self._shared() or self._of_its_own(self.settings())
            self._say(f"Spark: {self._settings_shown()}")
        return self._session

    def metadata(self) -> dict[str, Any]:
        """What a step shows of Spark, once it has used it: application id and UI."""
        if self._session is None:
            return {}
        from maintenance.spark.application import application

        running = application(self._session)
        ui = dg.MetadataValue.url(running.ui) if running.ui else "none, or at an address that the server does not tell"
        return {"spark application": running.id, "spark ui": ui}

    def _of_its_own(self, options: Mapping[str, str]) -> Any:
        from maintenance.spark.connect_server import listens

        if self.remote is not None:
            if self.remote.startswith("sc://") and not listens(self.remote):
                fix = "Start the server, or correct `remote` of spark in tables.yaml."
                raise InfrastructureError("no Spark Connect server answers", self.remote.partition("/;")[0], fix)
            return _session_of(self.master, self.remote, options)
        config = {**_OWN_DEFAULTS, **options}
        config[_JAVA_OPTIONS] = f"-Dlog4j2.configurationFile={LOG4J.as_uri()} {options.get(_JAVA_OPTIONS, '')}".strip()
        return _session_of(self.master, None, config)

    def _shared(self) -> Any:
        """The session of the server that this process's parent has started, if that is to be used and can be."""
        # Here, since sensors and the web server need no Spark.
        from maintenance.spark.connect_server import listens, server_of_environment, shared_session
        from maintenance.spark.session import is_fixed

        server = server_of_environment()
        if server is None or self.remote is not None or self.master != LOCAL_MASTER:
            return None
        settings = self.settings()
        other = [key for key, value in settings.items() if is_fixed(key) and server.config.get(key) != value]
        lacks = f"was started without '{other[0]}' = '{settings[other[0]]}'" if other else "does not listen"
        if other or not listens(server.remote):
            self._say(f"The Spark Connect server of this machine {lacks}: this run starts a Spark of its own.")
            return None
        free = {key: value for key, value in settings.items() if not is_fixed(key)}
        return _session_of(LOCAL_MASTER, shared_session(server.remote, free), free)

    def _settings_shown(self) -> str:
        return ", ".join(str(getattr(value, "value", value)) for value in self.metadata().values())

    def _say(self, line: str) -> None:
        if self._log is not None:
            self._log.info(line)


def spark_of(project: Project) -> Spark:
    """The resource, as tables.yaml describes it."""
    settings = project.spark
    tables = {table.identifier: table.spark_options for table in project.tables if table.spark_options}
    return Spark(
        master=settings.master, remote=settings.remote, options=settings.options, jobs=settings.jobs, tables=tables
    )


def of_run(run: dg.DagsterRun) -> tuple[str | None, str | None]:
    """The job that a run belongs to, as in `jobs` of the Spark settings, and its table if it is about a single one."""
    action, table = run.tags.get("paimon/action"), run.tags.get("paimon/table")
    selected = set(run.asset_selection or ()) or {check.asset_key for check in run.asset_check_selection or ()}
    if action or not selected:
        return action, table
    # Launched from the page of an asset: the table's own key runs the whole chain, those beside it compact.
    names = {".".join(key.path[:2]) for key in selected}
    beside = {make(name) for name in names for make in (keys.compaction, keys.changelog)}
    compacts = selected <= beside
    return "compact" if compacts else "maintain", names.pop() if len(names) == 1 else None


def _session_of(master: str, remote: str | None, options: Mapping[str, str]) -> Any:
    """The session of this process, with these settings; one with others is stopped first."""
    from pyspark.sql import SparkSession

    from maintenance.spark.session import get_session

    key = (master, remote, tuple(sorted(options.items())))
    cached = _CACHED.get(key)
    if cached is not None and not _is_stopped(cached):
        return cached
    for other in (*_CACHED.values(), SparkSession.getActiveSession()):
        # To stop one that is stopped already would make PySpark forget the one that runs.
        if other is not None and not _is_stopped(other):
            other.stop()
    _CACHED.clear()
    session: Any = get_session(master=master, remote=remote, config=options)
    session.release_session_on_close = "session_id=" not in (remote or "")  # others go on using a shared one
    atexit.register(_stop_quietly, session)
    _CACHED[key] = session
    return session


def _forget_lost() -> bool:
    """Forget the sessions of this process whose Spark is gone. Returns whether there was one."""
    from maintenance.spark.lost import forget, is_lost

    lost = [key for key, session in _CACHED.items() if is_lost(session)]
    for key in lost:
        forget(_CACHED.pop(key))
    return bool(lost)


def _stop_quietly(session: Any) -> None:
    with suppress(Exception):  # its Spark may be gone, and the process ends
        session.stop()


def _is_stopped(session: Any) -> bool:
    from maintenance.spark.application import is_connect

    return bool(session.is_stopped if is_connect(session) else session.sparkContext._jsc is None)
