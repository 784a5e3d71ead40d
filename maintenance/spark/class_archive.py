"""An archive of the classes that Spark loads: with it the JVM of a driver is ready in half the time.

``paimon-maintenance class-archive`` makes it, once for each Java and Spark of a machine or image, in the user's cache.
Every Spark that is started by this user takes it from there. It is Java's sharing of class data (JEP 350): a JVM that
the archive does not fit, since its class path or its heap is another, goes without and says nothing.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from maintenance.errors import InfrastructureError, OptionError
from maintenance.spark.java import JAVA_KEY, java_found
from maintenance.spark.server_process import free_ports

# Whoever says something of archives decides about them.
_DECIDED = ("-XX:SharedArchiveFile", "-XX:ArchiveClassesAtExit", "-XX:+AutoCreateSharedArchive", "-Xshare")
# What a JVM would say of an archive that does not fit, or of classes that it leaves out of one.
_SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"
_END_SECONDS = 300


def with_class_archive(config: Mapping[str, str]) -> dict[str, str]:
    """Settings of a Spark whose driver runs on this machine, by the archive if there is one.

    Args: `config`: what it or JAVA_TOOL_OPTIONS says of archives holds.
    """
    given = config.get(JAVA_KEY, "")
    said = f"{given} {os.environ.get('JAVA_TOOL_OPTIONS', '')}"
    archive = None if any(option in said for option in _DECIDED) else archive_path()
    if archive is None or not archive.exists():
        return dict(config)
    return {**config, JAVA_KEY: f"-XX:SharedArchiveFile={archive} {_SILENT} {given}".strip()}


def archive_path(folder: Path | None = None) -> Path | None:
    """Where the archive of this Java and this Spark is, or would be; None: there is no Java that Spark starts with.

    Args: `folder`: of archives; None: the user's cache. Whoever can write there decides what code Spark runs.
    """
    java = java_found()
    if java is None:
        return None
    home = Path(java).resolve().parents[1]
    release = home / "release"
    known = [str(home), release.read_text(errors="replace") if release.exists() else ""]
    for jar in sorted(Path(os.environ.get("SPARK_HOME") or pyspark.__path__[0], "jars").glob("*.jar")):
        found = jar.stat()
        known.append(f"{jar} {found.st_size} {found.st_mtime_ns}")
    digest = hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]
    return (_cache() if folder is None else folder) / f"{digest}.jsa"


def _cache() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "paimon-maintenance" / "spark"


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
    # Imported here, since a session is started with what this module says.
    from maintenance.spark.session import get_session

    (port,) = free_ports(1)
    settings = {
        JAVA_KEY: f"-XX:ArchiveClassesAtExit={archive} {_SILENT}",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    has_connect = bool(list(Path(pyspark.__path__[0]).glob("jars/spark-connect_*.jar")))
    own = settings if has_connect else {JAVA_KEY: settings[JAVA_KEY]}
    session = get_session(master="local[2]", config=own)
    gateway: Any = SparkContext._gateway
    _run_queries(session)
    if has_connect:
        subprocess.run([sys.executable, "-m", "maintenance.spark.class_archive", f"sc://localhost:{port}"], check=True)
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
