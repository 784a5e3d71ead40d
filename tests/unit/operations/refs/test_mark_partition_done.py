"""Partitions are marked as complete for others."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import DataError, InfrastructureError, OptionError, UnsupportedError
from maintenance.operations import mark_partition_done
from maintenance.sql import Session
from tests.small_tables import small_table

ACTION, URL = "partition.mark-done-action", "partition.mark-done-action.http.url"


def table_of(folder: Path, options: dict[str, str] | None = None) -> CatalogTable:
    return small_table(folder, options, primary_key=False, partition_keys=["k", "v"])


def success_file(folder: Path, partition: str) -> Any:
    return json.loads((folder / "db.db" / "t" / partition / "_SUCCESS").read_text())


def test_a_success_file_keeps_the_time_of_its_creation(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    report = mark_partition_done(table, [{"v": "a b/c", "k": "1"}])
    assert (report.partitions, report.actions) == (("k=1/v=a b%2Fc",), ("success-file",))
    first = success_file(tmp_path, report.partitions[0])
    mark_partition_done(table, [{"k": "1", "v": "a b/c"}])
    second = success_file(tmp_path, report.partitions[0])
    assert set(first) == {"creationTime", "modificationTime"}
    assert second["creationTime"] == first["creationTime"] <= second["modificationTime"]


def test_a_dry_run_says_what_would_be_done_and_does_nothing(tmp_path: Path) -> None:
    table = table_of(tmp_path, {ACTION: "success-file"})
    dry = mark_partition_done(table, [{"k": "1", "v": "a"}], dry_run=True)
    assert (dry.partitions, dry.actions, dry.dry_run) == (("k=1/v=a",), ("success-file",), True)
    text = "CALL sys.mark_partition_done(`table` => 'db.t', partitions => 'k=1,v=a', dry_run => true)"
    shown = Session({"warehouse": str(tmp_path)}).sql(text).to_arrow().to_pylist()
    assert shown == [{"partition": "k=1/v=a", "action": "success-file"}]
    assert not list(tmp_path.rglob("_SUCCESS"))
    with pytest.raises(UnsupportedError):
        mark_partition_done(table.copy({ACTION: "custom"}), [{"k": "1", "v": "a"}], dry_run=True)


class Receiver(BaseHTTPRequestHandler):
    """Remembers what is posted, and says SUCCESS unless the path ends with `refuse`."""

    posted: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        self.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()
        result = "FAILED" if self.path.endswith("refuse") else "success"
        self.wfile.write(json.dumps({"result": result}).encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def address() -> Iterator[str]:
    Receiver.posted.clear()
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_report_to_a_server(tmp_path: Path, address: str) -> None:
    options = {ACTION: "http-report,success-file", URL: address, "partition.mark-done-action.http.params": "job-7"}
    table = table_of(tmp_path, options)
    mark_partition_done(table, [{"k": "1", "v": "a"}, {"k": "2", "v": "b"}])
    sent = {"params": "job-7", "table": "db.t", "path": table.location}
    assert Receiver.posted == [{**sent, "partition": part} for part in ("k=1/v=a", "k=2/v=b")]
    assert success_file(tmp_path, "k=2/v=b")
    with pytest.raises(InfrastructureError, match="'result' is 'FAILED'"):
        mark_partition_done(table.copy({URL: f"{address}/refuse"}), [{"k": "1", "v": "a"}])


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({ACTION: "success-file,custom"}, UnsupportedError, "class of Java"),
        ({ACTION: "success"}, OptionError, "'success' is not an action"),
        ({ACTION: "done-partition"}, UnsupportedError, "keeps the table's partitions"),
        ({ACTION: "mark-event"}, UnsupportedError, "keeps the table's partitions"),
        ({ACTION: "http-report"}, OptionError, "http.url"),
    ],
)
def test_actions_that_cannot_be_had(tmp_path: Path, options: dict[str, str], error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        mark_partition_done(table_of(tmp_path, options), [{"k": "1", "v": "a"}])
    assert not list(tmp_path.rglob("_SUCCESS"))


def test_partitions_are_named_by_all_their_columns(tmp_path: Path) -> None:
    for spec in ({"k": "1"}, {}, {"k": "1", "v": "a", "w": "b"}):
        with pytest.raises(DataError, match="Name all partition columns: k, v"):
            mark_partition_done(table_of(tmp_path / str(len(spec))), [spec])


def test_it_is_a_procedure(tmp_path: Path) -> None:
    table_of(tmp_path)
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CALL sys.mark_partition_done(table => 'db.t', partitions => 'k=1,v=a;k=2,v=b')")
    assert success_file(tmp_path, "k=1/v=a")
    assert success_file(tmp_path, "k=2/v=b")


def rows(k: int, v: str) -> pa.Table:
    return pa.table({"k": pa.array([k], pa.int32()), "v": [v]})


def test_a_job_marks_the_partitions_that_it_wrote(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"partition.end-input-to-done": "true"})
    table.write_arrow(rows(1, "a"))
    table.overwrite_arrow(rows(2, "b"))
    Session({"warehouse": str(tmp_path)}).sql("INSERT INTO db.t VALUES (3, 'c')")
    marked = {str(path.parent.relative_to(tmp_path / "db.db" / "t")) for path in tmp_path.rglob("_SUCCESS")}
    assert marked == {"k=1/v=a", "k=2/v=b", "k=3/v=c"}
    table.write_arrow(rows(4, "d"), commit_user="feed", commit_identifier=1)
    assert not (tmp_path / "db.db" / "t" / "k=4").joinpath("v=d", "_SUCCESS").exists(), "a pipeline does not end"
    other = table_of(tmp_path / "other")
    other.write_arrow(rows(1, "a"))
    assert not list((tmp_path / "other").rglob("_SUCCESS"))


def test_a_job_that_cannot_mark_its_partitions_writes_nothing(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"partition.end-input-to-done": "true", ACTION: "custom"})
    with pytest.raises(UnsupportedError, match="names a class of Java"):
        table.write_arrow(rows(1, "a"))
    assert table.latest_snapshot() is None


def test_a_job_sets_the_watermark_that_its_end_has(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    table.copy({"end-input.watermark": "123"}).write_arrow(rows(1, "a"))
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.watermark == 123
