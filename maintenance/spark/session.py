"""Make a Spark session that can run this engine's tasks.

A cluster's executors need this package: `ship` sends it to them. On `local[*]` they run from the same files.
"""

import atexit
import io
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any
from weakref import WeakSet

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import maintenance
from maintenance.errors import OptionError
from maintenance.metadata.zone import local_zone
from maintenance.spark.class_archive import with_class_archive
from maintenance.spark.lost import wait_a_minute
from maintenance.spark.sail import check_settings, is_sail
from maintenance.spark.zone import SESSION_ZONE

TIMES_KEY = "spark.sql.timeType.enabled"
"""Whether a Connect server sends its clients columns of type TIME."""
# Settings of a session: also those of a Connect server's have them. The zone is that of this process besides.
_SESSION_DEFAULTS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.shuffle.partitions": "8",
    # Without it a Connect server sends no TIME to its clients.
    TIMES_KEY: "true",
}
# Where nothing is shipped to workers a streaming query needs none of its own, which would import all of this again.
_SHARED_WORKERS = {"spark.sql.artifact.isolation.enabled": "false"}
# Settings that count when Spark starts.
START_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Task results are commit messages; a task that fails is planned again by the operation, which knows the table.
    "spark.python.worker.reuse": "true",
    # A worker whose task is killed does not end by itself: it would go on writing for nothing.
    "spark.python.task.killTimeout": "0s",
    "spark.log.level": "ERROR",
}
# Set by a Connect server whose Python workers find this package by themselves, to its path.
PACKAGE_KEY = "spark.paimon-maintenance.package"
# The parent of Python workers that find this package by themselves.
DAEMON_KEY, DAEMON = "spark.python.daemon.module", "maintenance.spark.daemon"
# Where this package is imported from.
ROOT = str(Path(maintenance.__file__).parent.parent)
_SHIPPED: "WeakSet[SparkSession]" = WeakSet()


def _session_defaults() -> dict[str, str]:
    return {SESSION_ZONE: local_zone(), **_SESSION_DEFAULTS}


def get_session(
    *, master: str | None = None, remote: str | None = None, config: Mapping[str, str] | None = None
) -> SparkSession:
    """A session on `master` (default: all cores of this machine) or on the Spark Connect server `remote`.

    Args: `config`: Spark settings, over this engine's defaults.
    Raises: OptionError: Spark runs already, as a Connect server always does, and cannot take a setting any more.
    """
    if remote is not None:
        session = SparkSession.builder.remote(remote).getOrCreate()
        wait_a_minute(session)
        wanted = {**_session_defaults(), **(config or {})}
        if is_sail(session):
            check_settings(wanted, remote)
            wanted = {key: value for key, value in wanted.items() if not is_fixed(key)}
        # A server of Sail takes no files: its Python has this package, or `check_workers` says that it has not.
        if not is_sail(session):
            if session.conf.get(PACKAGE_KEY, None) == ROOT:
                wanted = _SHARED_WORKERS | wanted
            else:
                ship(session)
        _set(session, wanted, remote.partition("/;")[0])
        return session
    running = SparkSession.getActiveSession()
    if running is not None:
        # Spark would keep what it started with and say nothing.
        _set(running, {**({"spark.master": master} if master else {}), **(config or {})}, "a session of this process")
        return running
    settings: dict[str, str] = {**START_DEFAULTS, **_session_defaults(), **(config or {})}
    # The Python of the tasks must have this process's packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.appName("paimon-maintenance").master(master or "local[*]")
    if master is None or master.startswith("local"):
        settings.setdefault("spark.driver.host", "127.0.0.1")
        settings.setdefault("spark.driver.bindAddress", "127.0.0.1")
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # its UI is not for other machines either
        _make_importable()
        settings.setdefault(DAEMON_KEY, DAEMON)
    for key, value in with_class_archive(settings).items():
        builder = builder.config(key, value)
    started: SparkSession = builder.getOrCreate()
    if master is not None and not master.startswith("local"):
        ship(started)
    return started


def is_fixed(key: str) -> bool:
    """Whether a setting counts only when Spark starts. Some of ``spark.sql.*`` do, too: Spark refuses these itself."""
    return key.startswith("spark.") and not key.startswith("spark.sql.")


def _set(session: SparkSession, settings: Mapping[str, str], where: str) -> None:
    """Give a running session its settings. Raises: OptionError."""
    late: dict[str, str | None] = {}
    for key, value in settings.items():
        if not is_fixed(key):
            try:
                session.conf.set(key, value)
                continue
            except PySparkException as error:
                if "CANNOT_MODIFY" not in str(error):
                    raise OptionError(f"Spark refuses '{key}' = '{value}'", where, "Correct the setting.") from error
        has = session.conf.get(key, None)
        # Spark puts options of its own before these.
        if has != value and not (key.endswith("JavaOptions") and value in (has or "")):
            late[key] = has
    if late:
        settings_shown = ", ".join(
            f"'{key}' = '{settings[key]}' (it has {_shown(value)})" for key, value in late.items()
        )
        fix = "Give the setting where Spark is started, or leave it out; settings 'spark.sql.*' can be set at any time."
        raise OptionError(f"Spark is already running and cannot take {settings_shown}", where, fix)


def _shown(value: str | None) -> str:
    return "no value" if value is None else f"'{value}'"


def _make_importable() -> None:
    """Let local Python workers import this package from where this process has it."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if ROOT not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [ROOT, *paths]))


def ship(spark: SparkSession) -> None:
    """Send this package to the executors of a cluster, once for each session."""
    if spark in _SHIPPED:
        return
    # Executors fetch the file when their first task comes: it stays as long as this process.
    folder = tempfile.mkdtemp(prefix="paimon-maintenance-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = Path(folder) / "paimon_maintenance.zip"
    archive.write_bytes(package_archive())
    spark.addArtifacts(str(archive), pyfile=True)
    _SHIPPED.add(spark)


def package_archive() -> bytes:
    """A ZIP of this package, with what Python has compiled of it."""
    root = Path(maintenance.__file__).parent
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in sorted(root.rglob("*.py")):
            name = path.relative_to(root.parent)
            archive.write(path, name)
            # Else each worker compiles all that it imports. Python leaves out what is of another version or time.
            compiled = Path(cache_from_source(str(path)))
            if compiled.is_file():
                archive.write(compiled, name.with_suffix(".pyc"))
    return content.getvalue()
