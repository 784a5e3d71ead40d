"""Make the archive of the classes that Spark loads: a Spark that does what most do leaves it when it ends."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from maintenance.errors import InfrastructureError, OptionError
from maintenance.spark.class_archive import SILENT, archive_path
from maintenance.spark.connect_server import has_server
from maintenance.spark.java import JAVA_KEY
from maintenance.spark.server_process import free_ports
from maintenance.spark.session import get_session

_END_SECONDS = 300


def make_class_archive(folder: Path | None = None) -> Path:
    """Make the archive, unless it is there. Takes about a minute, and the process's only Spark.

    Returns: its path. Args: `folder`: as of `archive_path`.
    Raises: OptionError: there is no Java, or the path cannot be an option of it; InfrastructureError: none was left.
    """
    archive = archive_path(folder)
    if archive is None:
        raise OptionError(
            "no Java 17 or newer was found", "archive of Spark's classes", "Install one, or set JAVA_HOME."
        )
    if " " in str(archive):
        raise OptionError("a space is in the path", str(archive), "Set XDG_CACHE_HOME to a folder without one.")
    if archive.exists():
        return archive
    archive.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    unfinished = archive.with_suffix(f".{os.getpid()}")
    _leave(unfinished)
    if not unfinished.exists():
        fix = "Unset HADOOP_CONF_DIR and SPARK_CONF_DIR for it: Java archives no class path with folders in it."
        raise InfrastructureError("Java left no archive", str(archive), fix)
    # A JVM believes what the header says of the rest, and is killed by the system where that is missing.
    with unfinished.open("rb") as content:
        os.fsync(content.fileno())
    unfinished.rename(archive)
    return archive


def _leave(archive: Path) -> None:
    """Let a Spark do what most do, as a session of its process and as a Connect server, and end."""
    (port,) = free_ports(1)
    settings = {JAVA_KEY: f"-XX:ArchiveClassesAtExit={archive} {SILENT}"}
    if has_server():
        settings |= {
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
        }
    session = get_session(master="local[2]", config=settings)
    gateway: Any = SparkContext._gateway
    _run_queries(session)
    if has_server():
        asking = [sys.executable, "-m", "maintenance.spark.make_class_archive", f"sc://localhost:{port}"]
        subprocess.run(asking, check=False)  # without it the archive is of less use
    session.stop()
    # It writes the archive before it ends.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(_END_SECONDS)


def _run_queries(spark: SparkSession) -> None:
    """A few queries, with files, a join and functions of Python."""
    with tempfile.TemporaryDirectory() as folder:
        rows = spark.range(0, 100, 1, 2).selectExpr("id", "id % 3 AS k", "CAST(id AS STRING) AS v", "struct(id) AS s")
        rows.write.parquet(f"{folder}/rows")
        spark.read.parquet(f"{folder}/rows").createOrReplaceTempView("rows")
        spark.sql(
            "SELECT k, count(*), max(s.id), concat(min(v), '-') FROM rows JOIN (SELECT id FROM rows) USING (id)"
            " WHERE v IN ('1', '2', '3') GROUP BY k ORDER BY k"
        ).collect()
        spark.range(0, 100, 1, 2).mapInArrow(lambda batches: batches, "id long").collect()
        spark.createDataFrame([(1, "a")], "k int, v string").collect()


if __name__ == "__main__":
    _run_queries(SparkSession.builder.remote(sys.argv[1]).getOrCreate())
