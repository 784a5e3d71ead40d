"""Flink in a process of its own: a kill ends its jobs as a crash of their cluster would."""

from multiprocessing.connection import Connection
from pathlib import Path

from tests.java.process import JavaProcess, answer


def flink_process(warehouse: Path, folder: Path) -> JavaProcess:
    """A process whose attributes are the methods of `Flink`. `folder`: checkpoints stay there for the next process."""
    return JavaProcess(serve, str(warehouse), str(folder))


def serve(connection: Connection, warehouse: str, folder: str) -> None:
    """Answer calls until the other side hangs up. Runs in Flink's process."""
    import os

    from tests.flink.session import Flink, start

    start(Path(folder))
    answer(connection, Flink(warehouse, folder))
    os._exit(0)  # a job that still runs would keep the JVM alive


def listening_addresses(pid: int) -> set[str]:
    """Local addresses of the sockets on which a process listens, as the kernel writes them in hexadecimal."""
    sockets = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(str(entry.readlink()))
        except OSError:  # closed meanwhile
            continue
    actual = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                actual.add(fields[1].partition(":")[0])
    return actual
