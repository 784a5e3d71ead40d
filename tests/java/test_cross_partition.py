"""Tables whose keys may change their partition: real Paimon reads and compacts what is written here."""

from pathlib import Path

from maintenance.operations.compact import compact
from tests.java.process import JavaProcess
from tests.java.replay import Replay
from tests.java.samples import Row, Sample, rows_of, table_of

OPTIONS = {"bucket": "-1", "dynamic-bucket.target-row-num": "3", "write-only": "true"}


def test_java_finds_each_key_once(java: JavaProcess, tmp_path: Path) -> None:
    sample = Sample(("id",), ("p",), OPTIONS)
    sample.create(str(tmp_path))
    replay = Replay(java, str(tmp_path), sample)

    def inserts(ids: range, version: int) -> tuple[list[Row], list[str]]:
        rows: list[Row] = [(f"part {(row[1] + version) % 3}", *row[1:]) for row in rows_of(ids, version)]  # type: ignore[operator]
        return rows, ["+I"] * len(rows)

    replay.we_write(inserts(range(12), 0))
    replay.check()
    replay.we_write(inserts(range(4, 16), 1))
    replay.check()
    java.compact(replay.warehouse, "db.t")
    replay.check()
    replay.we_write(inserts(range(8), 2))
    replay.we_write((rows_of(range(6, 10), 5), ["-D"] * 4))
    compact(None, table_of(replay.warehouse), full=True)
    replay.check()
