"""An archive of the classes that Spark loads: with it a JVM starts, and answers its first queries, in half the time.

``python -m tests.spark_archive`` makes it, once for each Java and PySpark: a Spark runs small queries of the kinds that
tests run, as a session of its own process and as a Connect server, and leaves at its end what it has loaded. A JVM that
the archive does not fit, because it has another class path, goes without.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from maintenance.spark.server_process import free_ports
from maintenance.spark.session import get_session

_FOLDER = Path(__file__).parent.parent / ".cache" / "spark"
_LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def java_options() -> str:
    """Options of every JVM that tests start.

    Nearly all live for seconds: code that is compiled once, lightly, and a collector without threads take a third less
    of the processors. What a JVM says of an archive that does not fit would stand in the output of commands.
    """
    archive = archive_path()
    if not archive.exists():
        return _LIGHT
    return f"{_LIGHT} -XX:SharedArchiveFile={archive} -Xlog:disable -Xlog:all=error:stderr"


def archive_path() -> Path:
    """Where the archive for this Java and this PySpark is."""
    java = Path(os.environ.get("JAVA_HOME", "/"))
    release = java / "release"
    known = [
        str(java.resolve()),
        release.read_text() if release.exists() else "",
        pyspark.__file__,
        pyspark.__version__,
    ]
    digest = hashlib.sha256("\n".join(known).encode()).hexdigest()
    return _FOLDER / f"{digest[:16]}.jsa"


def make_archive() -> None:
    """Make the archive, if it is not there."""
    archive = archive_path()
    if archive.exists():
        return
    archive.parent.mkdir(parents=True, exist_ok=True)
    unfinished = archive.with_suffix(f".{os.getpid()}")
    os.environ["JAVA_TOOL_OPTIONS"] = f"{_LIGHT} -Xlog:disable -Xlog:all=error:stderr"
    (port,) = free_ports(1)
    settings = {
        "spark.driver.extraJavaOptions": f"-XX:ArchiveClassesAtExit={unfinished}",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    session = get_session(master="local[2]", config=settings)
    gateway: Any = SparkContext._gateway
    run_queries(session)
    subprocess.run([sys.executable, "-m", "tests.spark_archive", f"sc://localhost:{port}"], check=True)
    session.stop()
    # It writes the archive before it ends.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(300)
    unfinished.rename(archive)


def run_queries(spark: SparkSession) -> None:
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
    if len(sys.argv) > 1:
        run_queries(SparkSession.builder.remote(sys.argv[1]).getOrCreate())
    else:
        make_archive()
