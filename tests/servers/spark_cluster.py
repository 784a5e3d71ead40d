"""A standalone cluster of Spark on this machine: a master and workers, processes of their own."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyspark

FAST_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_DEPLOY = "org.apache.spark.deploy"


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2, memory: str = "600m") -> Iterator[str]:
    """The URL of a master with workers of one core each, which keep their work in `folder`."""
    port, web_port = free_port(), free_port()
    master = f"spark://127.0.0.1:{port}"

    def alive() -> int:
        with urllib.request.urlopen(f"http://127.0.0.1:{web_port}/json/", timeout=60) as answer:
            return sum(worker["state"] == "ALIVE" for worker in json.load(answer)["workers"])

    with ExitStack() as daemons:
        own = ["--host", "127.0.0.1", "--webui-port"]
        log = folder / "master.log"
        daemons.enter_context(running(log, f"{_DEPLOY}.master.Master", *own, str(web_port), "--port", str(port)))
        eventually("the master listens", lambda: alive() == 0)
        for number in range(workers):
            work = str(folder / f"worker-{number}")
            limits = ["--cores", "1", "--memory", memory, "--work-dir", work]
            log = folder / f"worker-{number}.log"
            daemons.enter_context(running(log, f"{_DEPLOY}.worker.Worker", *own, "0", *limits, master))
        eventually("all workers are there", lambda: alive() == workers)
        yield master


def cluster_settings(workers: int = 2, memory: str = "512m") -> dict[str, str]:
    """What a session needs to wait for all workers."""
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": memory,
        "spark.cores.max": str(workers),  # to wait for all workers, Spark has to know how many there are to be
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
    }


def environment() -> dict[str, str]:
    hidden = ("SPARK_", "PYSPARK_", "PYTHONPATH", "PAIMON_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
    return {**kept, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def eventually(what: str, test: Any) -> None:
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        try:
            if test():
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise TimeoutError(what)


@contextmanager
def running(log: Path, *arguments: str) -> Iterator[None]:
    """A daemon of Spark for as long as the context lasts."""
    command = [str(Path(pyspark.__path__[0]) / "bin" / "spark-class"), *arguments]
    java = {"SPARK_DAEMON_JAVA_OPTS": FAST_JAVA, "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("w") as output:
        # Daemons must not find this package: executors get it from the driver.
        daemon = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment() | java, cwd=log.parent
        )
        try:
            yield
        finally:
            daemon.terminate()
            daemon.wait(30)
