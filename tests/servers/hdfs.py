"""An HDFS cluster of the tests, of one namenode and one datanode in one Java process: `scripts/hdfs-server` brings it.

All its ports are on this machine's loopback address.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from tests.servers.processes import free_port

_CLASSPATH = Path(__file__).parents[2] / ".cache/hdfs-server/classpath"
_MAIN = "org.apache.hadoop.test.MiniDFSClusterManager"
_START_SECONDS = 120


class Hdfs:
    """A running cluster. `url`: of its WebHDFS, or of a relay in front of it; `rpc`: of the namenode, host and port."""

    def __init__(self, url: str, rpc: str) -> None:
        self.url, self.rpc = url, rpc

    def behind(self, url: str) -> "Hdfs":
        """The same cluster, reached through a relay."""
        return Hdfs(url, self.rpc)

    def options(self, folder: str) -> dict[str, str]:
        """Catalog options of a warehouse in a folder, as a Flink job has them."""
        address = self.url.partition("://")[2]
        return {"warehouse": f"hdfs://{self.rpc}/{folder}/wh", "hadoop.dfs.namenode.http-address": address}

    def new_folder(self) -> str:
        return f"f{uuid4().hex}"


@contextmanager
def running(folder: Path) -> Iterator[Hdfs]:
    """A cluster whose files are in a new folder. Raises: FileNotFoundError: something that it needs is missing."""
    program = shutil.which("java", path=f"{os.environ.get('JAVA_HOME', '')}/bin:{os.environ.get('PATH', '')}")
    if program is None:
        raise FileNotFoundError("no HDFS cluster: there is no java on PATH")
    if not _CLASSPATH.exists():
        raise FileNotFoundError("no HDFS cluster: run scripts/hdfs-server")
    folder.mkdir(parents=True, exist_ok=True)
    rpc, http = free_port(), free_port()
    settings = {
        "dfs.namenode.fs-limits.min-block-size": "1024",
        "dfs.ls.limit": "5",
        "dfs.client.block.write.locateFollowingBlock.initial.delay.ms": "5",
    }
    given = [part for name, value in settings.items() for part in ("-D", f"{name}={value}")]
    ports = ["-nnport", str(rpc), "-httpport", str(http), "-datanodes", "1", "-format"]
    details = folder / "details"
    command = [program, "-Xmx400m", "-cp", _CLASSPATH.read_text().strip(), _MAIN, *ports, *given]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [*command, "-writeDetails", str(details)], cwd=folder, stdout=log, stderr=log, stdin=subprocess.PIPE
        ) as process,
    ):
        try:
            until = time.monotonic() + _START_SECONDS
            while not (details.exists() and details.read_text().endswith("}")):
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"HDFS did not start: {(folder / 'log').read_text()[-2000:]}")
                time.sleep(0.2)
            assert json.loads(details.read_text())["namenode_port"] == rpc
            yield Hdfs(f"http://127.0.0.1:{http}", f"127.0.0.1:{rpc}")
        finally:
            process.kill()
