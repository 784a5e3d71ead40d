"""Apache Flink with Paimon's connector inside this process, through JPype.

Each job runs in a mini cluster of its own in this JVM, which listens on loopback alone. A process can have one JVM,
once, and a kill ends its jobs: `process.py` gives it a process of its own. A job goes on from its newest checkpoint.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CLASSPATH = ROOT / ".cache" / "flink" / "classpath"
_OPENED = (
    *("java.lang", "java.lang.reflect", "java.util", "java.util.concurrent", "java.util.concurrent.atomic"),
    *("java.net", "java.nio", "java.io", "java.time", "java.text", "sun.nio.ch"),
)
SETTINGS = {
    "parallelism.default": "1",
    "rest.address": "127.0.0.1",
    "rest.bind-address": "127.0.0.1",
    "jobmanager.rpc.address": "127.0.0.1",
    "jobmanager.bind-host": "127.0.0.1",
    "taskmanager.host": "127.0.0.1",
    "taskmanager.bind-host": "127.0.0.1",
    "taskmanager.memory.network.min": "32mb",
    "taskmanager.memory.network.max": "32mb",
    "table.exec.sink.upsert-materialize": "NONE",
}
_STREAMING = {
    "execution.checkpointing.interval": "1 s",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "restart-strategy.type": "none",
}
Row = tuple[Any, ...]


def missing() -> str | None:
    """What keeps Flink from starting here, None if nothing does."""
    if not CLASSPATH.exists():
        return f"there is no {CLASSPATH}: run scripts/fetch-flink"
    gone = [jar for jar in CLASSPATH.read_text().strip().split(os.pathsep) if not Path(jar).exists()]
    if gone:
        return f"there is no {gone[0]}: run scripts/fetch-flink"
    return None if shutil.which("java") else "there is no java on PATH"


def start(folder: Path, max_heap: str = "768m") -> None:
    """Start the JVM. `folder`: for what Flink puts aside meanwhile."""
    import jpype

    opens = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    quick = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # small tables, short lives
    jars = CLASSPATH.read_text().strip().split(os.pathsep)
    logging = folder / "log4j.properties"
    logging.write_text("log4j.rootLogger=OFF\n")
    properties = (f"-Djava.io.tmpdir={folder}", f"-Dlog4j.configuration={logging.as_uri()}")
    jpype.startJVM(f"-Xmx{max_heap}", *quick, *properties, *opens, classpath=jars, convertStrings=True)


class Flink:
    """Sessions of one warehouse: one in batch mode, and one for each streaming job.

    Args: `folder`: for checkpoints, which outlive the process, and for temporary files; `settings`: of the first one.
    """

    def __init__(self, warehouse: str, folder: str, settings: Mapping[str, str] | None = None) -> None:
        self._warehouse, self._folder = warehouse, Path(folder)
        self.batch = self._session(settings or {}, streaming=False)
        self._jobs: dict[str, Any] = {}

    def _session(self, settings: Mapping[str, str], *, streaming: bool) -> Any:
        import jpype

        api = jpype.JPackage("org").apache.flink.table.api
        modes = api.EnvironmentSettings
        session = api.TableEnvironment.create(modes.inStreamingMode() if streaming else modes.inBatchMode())
        temporary = {"io.tmp.dirs": str(self._folder)}
        for key, value in (SETTINGS | temporary | dict(settings)).items():
            session.getConfig().set(key, value)
        session.executeSql(f"CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '{self._warehouse}')")
        session.executeSql("USE CATALOG lake")
        return session

    def query(self, sql: str) -> list[Row]:
        """The rows of a statement in batch mode, sorted; none of one that writes."""
        done = self.batch.executeSql(sql)
        if sql.startswith("INSERT"):
            done.await_()
            return []
        actual = done.collect()
        rows = [tuple(value(row.getField(i)) for i in range(row.getArity())) for row in actual]
        actual.close()
        return sorted(rows, key=repr)

    def materialized(self, database: str, table: str) -> dict[str, str]:
        """What Flink's catalog says of a materialized table. Fails if it is a table of another kind."""
        import jpype

        path = jpype.JPackage("org").apache.flink.table.catalog.ObjectPath(database, table)
        known = self.batch.getCatalog("lake").get().getTable(path)
        freshness = known.getDefinitionFreshness()
        return {
            "kind": str(known.getTableKind()),
            "query": str(known.getDefinitionQuery()),
            "freshness": f"{freshness.getInterval()} {freshness.getTimeUnit()}",
            "mode": str(known.getRefreshMode()),
            "status": str(known.getRefreshStatus()),
        }

    def submit(self, job: str, inserts: list[str], *, resume: bool = False) -> None:
        """Start a streaming job of some INSERTs. `resume`: from the newest checkpoint of the job of that name."""
        checkpoints = self._folder / "checkpoints" / job
        settings = _STREAMING | {"execution.checkpointing.dir": checkpoints.as_uri(), "pipeline.name": job}
        if resume:
            settings["execution.state-recovery.path"] = newest(checkpoints).as_uri()
        statements = self._session(settings, streaming=True).createStatementSet()
        for insert in inserts:
            statements.addInsertSql(insert)
        self._jobs[job] = statements.execute().getJobClient().get()

    def status(self, job: str) -> str:
        """``RUNNING``, or how the job ended, with the reason if it failed."""
        import jpype

        try:
            state = str(self._jobs[job].getJobStatus().get())
        except jpype.JException:  # its cluster has ended with it
            state = "FAILED"
        if state != "FAILED":
            return state
        try:
            self._jobs[job].getJobExecutionResult().get()
        except jpype.JException as error:
            return f"{state}: {error.stacktrace()}"
        return state

    def checkpoints(self, job: str) -> int:
        """How many checkpoints of a job are complete and kept, over all its lives: it grows while the job runs."""
        actual = (self._folder / "checkpoints" / job).glob("*/chk-*/_metadata")
        return max((int(path.parent.name.removeprefix("chk-")) for path in actual), default=0)

    def cancel(self, job: str) -> None:
        """End a job; its checkpoints stay."""
        self._jobs.pop(job).cancel().get()


def newest(checkpoints: Path) -> Path:
    """The newest complete checkpoint."""
    return max(checkpoints.glob("*/chk-*/_metadata"), key=lambda path: path.stat().st_mtime).parent


def value(java: Any) -> Any:
    """A value of a row as Python's."""
    if java is None or isinstance(java, str | bool):
        return java
    name = str(java.getClass().getName())
    if name in ("java.lang.Byte", "java.lang.Short", "java.lang.Integer", "java.lang.Long"):
        return int(java)
    return str(java)
