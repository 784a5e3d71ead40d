"""What others do with tables on a store, for `benchmarks/object_store.py`: pypaimon and the Java core.

Each peer has the actions of `ACTIONS` that it can do. It does one on another table first, to be warm, and then on the
one that counts when it is told to.
"""

import json
import multiprocessing
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import java_core

ACTIONS = ("read", "write", "compact", "expire", "tick")
ROWS = 1000
_PYPAIMON = Path(".venv-pypaimon/bin/python")
_ROOT = Path(__file__).parents[1]
_CODE = """
import json, sys, time
import pyarrow as pa
from pypaimon import CatalogFactory
options = json.loads(sys.argv[1])
catalog = CatalogFactory.create({**options, "s3.region": "us-east-1"})
rows = int(sys.argv[2])

def read(table):
    builder = table.new_read_builder()
    splits = builder.new_scan().plan().splits()
    return builder.new_read().to_arrow(splits).num_rows

def write(table):
    builder = table.new_batch_write_builder()
    writer, commit = builder.new_write(), builder.new_commit()
    ids = pa.array(range(rows), pa.int64())
    schema = pa.schema([pa.field("id", pa.int64(), False), ("v", pa.string())])
    writer.write_arrow(pa.table({"id": ids, "v": ["x"] * rows}, schema))
    commit.commit(writer.prepare_commit())
    writer.close(); commit.close()

def tick(table):
    table.snapshot_manager().get_latest_snapshot()

actions = {"read": read, "write": write, "tick": tick}
for line in sys.stdin:
    action, names = json.loads(line)
    tables = [catalog.get_table(name) for name in names]
    if action == "read":
        read(tables[0])
    print("ready", flush=True)
    sys.stdin.readline()
    started = time.perf_counter()
    for table in tables:
        actions[action](table)
    print(time.perf_counter() - started, flush=True)
"""


class Pypaimon:
    """pypaimon, in a process of its own."""

    name = "pypaimon"
    actions = ("read", "write", "tick")

    def __init__(self, options: Mapping[str, str]) -> None:
        command = [str(_PYPAIMON), "-c", _CODE, json.dumps(dict(options)), str(ROWS)]
        environment = {**os.environ, "AWS_DEFAULT_REGION": "us-east-1"}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    @staticmethod
    def missing() -> str | None:
        """Why it cannot take part."""
        return None if _PYPAIMON.exists() else "it is not installed: scripts/install pypaimon"

    def prepare(self, action: str, tables: Sequence[str]) -> None:
        self._say(json.dumps((action, list(tables))))
        self._hear()

    def go(self) -> float:
        """Do what was prepared. Returns seconds."""
        self._say("")
        return float(self._hear())

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("pypaimon ended")
        return line

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


class Java:
    """The Java core with its S3 module, in a process of its own."""

    name = "Java"
    actions = ACTIONS

    def __init__(self, options: Mapping[str, str]) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve_java, args=(theirs, dict(options)), daemon=True)
        self._process.start()
        theirs.close()

    @staticmethod
    def missing() -> str | None:
        """Why it cannot take part. Its jars are fetched where they can be had."""
        for artifact in ("paimon-bundle", "paimon-s3"):
            subprocess.run([_ROOT / "scripts/fetch-paimon-core", artifact], check=False)
            if not java_core.jar(artifact).exists():
                return f"there is no {java_core.jar(artifact)}"
        return None

    def prepare(self, action: str, tables: Sequence[str]) -> None:
        self._connection.send((action, list(tables)))
        self._connection.recv()

    def go(self) -> float:
        """Do what was prepared. Returns seconds."""
        self._connection.send(None)
        seconds: float = self._connection.recv()
        return seconds

    def close(self) -> None:
        self._connection.close()
        self._process.join(10)
        self._process.kill()


PEERS = (Pypaimon, Java)


def _serve_java(connection: Any, options: Mapping[str, str]) -> None:
    paimon = java_core.start("1g", [str(java_core.jar("paimon-s3"))])
    given = {**options, "s3.region": "us-east-1", "fs.s3a.endpoint.region": "us-east-1"}
    actions = {"read": _read, "write": _write, "compact": _compact, "expire": _expire, "tick": _tick}
    rows = _rows(paimon)
    while True:
        try:
            action, names = connection.recv()
        except EOFError:
            return
        tables = [java_core.open_table(paimon, given, name) for name in names]
        if action == "read":
            _read(paimon, tables[0], rows)
        connection.send("ready")
        connection.recv()
        started = time.perf_counter()
        for table in tables:
            actions[action](paimon, table, rows)
        connection.send(time.perf_counter() - started)


def _rows(paimon: Any) -> Any:
    import jpype

    found = jpype.java.util.ArrayList()
    for number in range(ROWS):
        row = paimon.data.GenericRow(2)
        row.setField(0, jpype.JLong(number))
        row.setField(1, paimon.data.BinaryString.fromString("x"))
        found.add(row)
    return found


def _read(_paimon: Any, table: Any, _rows: Any) -> None:
    builder = table.newReadBuilder()
    reader = builder.newRead().createReader(builder.newScan().plan().splits())
    while (batch := reader.readBatch()) is not None:
        while batch.next() is not None:
            pass
        batch.releaseBatch()
    reader.close()


def _write(paimon: Any, table: Any, rows: Any) -> None:
    java_core.write_rows(paimon, table, [rows])


def _compact(paimon: Any, table: Any, _rows: Any) -> None:
    java_core.compact_seconds(paimon, table, 2)


def _expire(paimon: Any, table: Any, _rows: Any) -> None:
    import jpype

    kept = paimon.options.ExpireConfig.builder().snapshotRetainMax(1).snapshotRetainMin(1)
    table.newExpireSnapshots().config(kept.snapshotTimeRetain(jpype.java.time.Duration.ZERO).build()).expire()


def _tick(_paimon: Any, table: Any, _rows: Any) -> None:
    table.snapshotManager().latestSnapshotId()
