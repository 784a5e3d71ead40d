"""Spark outside this process: a Connect server and a standalone cluster, each driven by a process of its own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from tests.tables import create_table, data_files, files_on_disk, keyed, state

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]

DRIVER = """
import sys
from maintenance.operations.compact import compact
from maintenance.operations.ingest import ingest
from maintenance.spark.session import get_session
from tests.tables import get_table, keyed, state

spark = get_session(**{{"{how}": sys.argv[2]}})
table = get_table(sys.argv[1])
rows = spark.range(0, 200, 1, 3).selectExpr("cast(id as int) as id", "cast(id * 2 as string) as v")
ingest(spark, table, rows, commit_user="driver", commit_identifier=1)
report = compact(spark, table, full=True)
assert report.count("committed") == 2, report.groups
read = table.to_spark(spark, where="id < 50").collect()
assert {{row["id"]: row["v"] for row in read}} == state(table, where="id < 50")
print("rows read:", len(read))
"""


def drive(tmp_path: Path, how: str, where: str) -> None:
    """Ingest, compact and read on that Spark; the table then holds what it must."""
    table = create_table(tmp_path, options={"bucket": "2"})
    table.write_arrow(keyed({-1: "before"}))
    done = subprocess.run(
        [sys.executable, "-c", DRIVER.format(how=how), str(tmp_path), where],
        cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "rows read: 51" in done.stdout
    assert state(table) == {-1: "before"} | {i: str(2 * i) for i in range(200)}
    assert files_on_disk(table) == data_files(table)


def environment() -> dict[str, str]:
    hidden = ("SPARK_", "PYSPARK_", "PYTHONPATH")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    return {**kept, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"nobody listens on port {port}")


@contextmanager
def running(log: Path, *arguments: str) -> Iterator[None]:
    """A daemon of Spark for as long as the context lasts."""
    command = [str(Path(pyspark.__path__[0]) / "bin" / "spark-class"), *arguments]
    with log.open("w") as output:
        # Daemons must not find this package: executors get it from the driver.
        daemon = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment(), cwd=log.parent)
        try:
            yield
        finally:
            daemon.terminate()
            daemon.wait(30)


def test_standalone_cluster(tmp_path: Path) -> None:
    deploy = "org.apache.spark.deploy"
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as daemons:
        own = ["--host", "127.0.0.1", "--webui-port", "0"]
        log = tmp_path / "master.log"
        daemons.enter_context(running(log, f"{deploy}.master.Master", *own, "--port", str(port)))
        wait_for(port)
        for number in range(2):
            work = str(tmp_path / f"worker-{number}")
            limits = ["--cores", "1", "--memory", "1g", "--work-dir", work]
            log = tmp_path / f"worker-{number}.log"
            daemons.enter_context(running(log, f"{deploy}.worker.Worker", *own, *limits, master))
        drive(tmp_path / "warehouse", "master", master)


def test_spark_connect(tmp_path: Path) -> None:
    drive(tmp_path / "warehouse", "remote", "local[2]")
