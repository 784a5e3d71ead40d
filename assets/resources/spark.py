"""The Spark session that the steps of a run share.

`master` starts a Spark of the run's own, on this machine or on a standalone cluster (``spark://``); `remote` is
a Spark Connect server. Where neither is said and the parent of all runs (`make ui`) has started a server, runs use
that; a run whose settings that server cannot take, or that does not find it, starts its own Spark and says so.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field, PrivateAttr

from maintenance.errors import InfrastructureError, OptionError
from maintenance.project.config import ENGINE_MEANS, SPARK_ACTIONS, Project
from maintenance.spark.engine import ENGINE, LOCAL_MASTER, Engine, EngineKind
from maintenance.spark.java import JAVA_KEY
from maintenance.spark.opened import forget_lost, is_opened, open_session, stop
from maintenance.spark.sail import is_sail, meaningless
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.table_of_run import table_of

LOG4J = Path(__file__).resolve().with_name("log4j2.properties")
# A run's own UI takes any free port: many runs may be at work.
_OWN_DEFAULTS = {"spark.ui.enabled": "true", "spark.ui.port": "0"}


class Spark(dg.ConfigurableResource):
    """A Spark session, started when a step first needs it, shared by the run's steps and closed when the run ends."""

    engine: str = Field(default=EngineKind.AUTO.value, description=ENGINE_MEANS)
    master: str = Field(default=LOCAL_MASTER, description="Spark's master URL; local[*] uses this machine's cores.")
    remote: str | None = Field(default=None, description="A Spark Connect server, sc://host:port, instead of a master.")
    options: dict[str, str] = Field(default={}, description="More Spark options; they override the project's.")
    jobs: dict[str, dict[str, str]] = Field(
        default={}, description=f"Options of some jobs, over `options`: {', '.join(SPARK_ACTIONS)}."
    )
    tables: dict[str, dict[str, str]] = Field(default={}, description="Options of some tables, over those of the job.")
    run_options: dict[str, str] = Field(default={}, description="Options of this run, over all others.")

    _run: dg.DagsterRun | None = PrivateAttr(default=None)
    _serves: tuple[str, str | None] | None = PrivateAttr(default=None)
    _log: Any = PrivateAttr(default=None)
    _session: Any = PrivateAttr(default=None)
    _engine: Engine | None = PrivateAttr(default=None)

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
        """The session of this run; a new one if its Spark was lost. None: this process does the work.

        Raises: OptionError; InfrastructureError: no Connect server is at `remote`.
        """
        if self._session is not None and forget_lost():
            self._session = None
            self._say("Spark was lost: a new one is started.")
        if self._session is None and not (self._engine and self._engine.is_embedded):
            self._engine = self._chosen().settled()
            self._session = self._shared(self._engine) or self._of_its_own(self._engine, self.settings())
            self._say(f"Engine: {self._engine.told()}. {self._settings_shown()}".strip())
        return self._session

    def metadata(self) -> dict[str, Any]:
        """What a step shows of Spark, once it has used it: what it is, application id and UI."""
        if self._engine is None:
            return {}
        shown: dict[str, Any] = {"engine": self._engine.told()}
        if self._session is None or is_sail(self._session):
            return shown
        from maintenance.spark.application import application

        running = application(self._session)
        ui = dg.MetadataValue.url(running.ui) if running.ui else "none, or at an address that the server does not tell"
        return {**shown, "spark application": running.id, "spark ui": ui}

    def _chosen(self) -> Engine:
        return Engine.of_settings(self.engine, self.master, self.remote, "resource spark")

    def _of_its_own(self, engine: Engine, options: Mapping[str, str]) -> Any:
        from maintenance.spark.server_process import listens

        if engine.kind is EngineKind.CONNECT:
            remote = engine.address or ""
            if not listens(remote):
                fix = "Start the server, or correct `remote` of spark in tables.yaml."
                raise InfrastructureError("no Spark Connect server answers", str(engine), fix)
            return _session_of(engine, options)
        if engine.kind is EngineKind.SAIL:
            keys = meaningless(options)
            if keys:
                self._say(f"Nothing follows on Sail from {', '.join(keys)}.")
            return _session_of(engine, options)
        config = {**_OWN_DEFAULTS, **options}
        config[JAVA_KEY] = f"-Dlog4j2.configurationFile={LOG4J.as_uri()} {options.get(JAVA_KEY, '')}".strip()
        return _session_of(engine, config)

    def _shared(self, engine: Engine) -> Any:
        """The session of the server that this process's parent has started, if that is to be used and can be."""
        # Here, since sensors and the web server need no Spark.
        from maintenance.spark.connect_server import shared_session
        from maintenance.spark.server_process import listens, server_of_environment
        from maintenance.spark.session import is_fixed

        server = server_of_environment()
        if server is None or engine.address is not None or engine.kind is not EngineKind.SPARK:
            return None
        settings = self.settings()
        other = [key for key, value in settings.items() if is_fixed(key) and server.config.get(key) != value]
        lacks = f"was started without '{other[0]}' = '{settings[other[0]]}'" if other else "does not listen"
        if other or not listens(server.remote):
            self._say(f"The Spark Connect server of this machine {lacks}: this run starts one of its own.")
            return None
        free = {key: value for key, value in settings.items() if not is_fixed(key)}
        return _session_of(Engine(EngineKind.CONNECT, shared_session(server.remote, free)), free)

    def _settings_shown(self) -> str:
        shown = (value for key, value in self.metadata().items() if key != ENGINE)
        return ", ".join(str(getattr(value, "value", value)) for value in shown)

    def _say(self, line: str) -> None:
        if self._log is not None:
            self._log.info(line)


def spark_of(project: Project) -> Spark:
    """The resource, as tables.yaml describes it."""
    settings = project.spark
    tables = {table.identifier: table.spark_options for table in project.tables if table.spark_options}
    return Spark(
        engine=settings.engine,
        master=settings.master,
        remote=settings.remote,
        options=settings.options,
        jobs=settings.jobs,
        tables=tables,
    )


def of_run(run: dg.DagsterRun) -> tuple[str | None, str | None]:
    """The job that a run belongs to, as in `jobs` of the Spark settings, and its table if it is about a single one."""
    action, table = run.tags.get("paimon/action"), table_of(run) or None
    selected = set(run.asset_selection or ()) or {check.asset_key for check in run.asset_check_selection or ()}
    if action or not selected:
        return action, table
    if table is not None:
        return "maintain", table
    # Launched from the page of an asset: the table's own key runs the whole chain, those beside it compact.
    names = {".".join(key.path[:2]) for key in selected}
    parts = {make(name) for name in names for make in (keys.compaction, keys.changelog)}
    compacts = selected <= parts
    return "compact" if compacts else "maintain", names.pop() if len(names) == 1 else None


def _session_of(engine: Engine, options: Mapping[str, str]) -> Any:
    """The session of this process, with these settings; whatever else runs in it is stopped first."""
    from pyspark.sql import SparkSession

    other = SparkSession.getActiveSession()
    if other is not None and not is_opened(other):
        # To stop one that is stopped already would make PySpark forget the one that runs.
        stop(other)
    return open_session(engine, options)
