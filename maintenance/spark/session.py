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
from pathlib import Path
from typing import Any
from weakref import WeakSet

from pyspark.sql import SparkSession

import maintenance

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.shuffle.partitions": "8",
    # Task results are commit messages; a task that fails is planned anew by the operation, which knows the table.
    "spark.python.worker.reuse": "true",
    "spark.log.level": "ERROR",
}
_SHIPPED: "WeakSet[SparkSession]" = WeakSet()


def get_session(
    *, master: str | None = None, remote: str | None = None, config: Mapping[str, str] | None = None
) -> SparkSession:
    """A session on `master` (default: all cores of this machine) or on the Spark Connect server `remote`.

    Args: `config`: Spark settings, over this engine's defaults.
    """
    settings: dict[str, str] = {**_DEFAULTS, **(config or {})}
    if remote is not None:
        session = SparkSession.builder.remote(remote).getOrCreate()
        ship(session)
        return session
    # The Python of the tasks must have this process's packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.appName("paimon-maintenance").master(master or "local[*]")
    if master is None or master.startswith("local"):
        settings.setdefault("spark.driver.host", "127.0.0.1")
        settings.setdefault("spark.driver.bindAddress", "127.0.0.1")
        _make_importable()
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if master is not None and not master.startswith("local"):
        ship(session)
    return session


def _make_importable() -> None:
    """Let local Python workers import this package from where this process has it."""
    root = str(Path(maintenance.__file__).parent.parent)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if root not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, *paths]))


def ship(spark: SparkSession) -> None:
    """Send this package to the executors of a cluster, once for each session."""
    if spark in _SHIPPED:
        return
    # Executors fetch the file when their first task comes: it stays as long as this process.
    folder = tempfile.mkdtemp(prefix="paimon-maintenance-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = Path(folder) / "paimon_maintenance.zip"
    archive.write_bytes(_package())
    spark.addArtifacts(str(archive), pyfile=True)
    _SHIPPED.add(spark)


def _package() -> bytes:
    root = Path(maintenance.__file__).parent
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in sorted(root.rglob("*.py")):
            archive.write(path, path.relative_to(root.parent))
    return content.getvalue()
