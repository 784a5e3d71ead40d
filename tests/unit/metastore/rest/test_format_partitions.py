"""Partitions of format tables that a REST server lists: they are registered, listed and forgotten.

The server of Paimon's tests (1.4) has no such calls, so one that keeps a list stands in.
"""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import NotFoundError
from maintenance.sql import Session
from maintenance.table.format_table import FormatTable

_TABLE = "/v1/wh/databases/db/tables/t"


class _Server(HTTPServer):
    """`partitions`: those that are registered; `files`: how many the table had when one was forgotten."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.partitions: list[dict[str, str]] = []
        self.files: list[int] = []


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/v1/config":
            self._answer({"defaults": {"prefix": "wh"}, "overrides": {}})
        elif path == "/v1/wh/databases":
            self._answer({"databases": ["default", "db"]})
        elif path == _TABLE:
            fields = [
                {"id": 0, "name": "v", "type": "INT"},
                *({"id": n, "name": f"p{n}", "type": "STRING"} for n in (1, 2)),
            ]
            options = {"type": "format-table", "file.format": "csv", "metastore.partitioned-table": "true"}
            schema = {"fields": fields, "partitionKeys": ["p1", "p2"], "primaryKeys": [], "options": options}
            place = {"id": "7", "name": "t", "path": str(self.server.folder), "isExternal": True, "schemaId": 0}
            self._answer({**place, "schema": {**schema, "comment": None}})
        elif path == f"{_TABLE}/partitions":
            counts = dict.fromkeys(("recordCount", "fileSizeInBytes", "fileCount", "lastFileCreationTime"), 0)
            self._answer({"partitions": [{"spec": spec, **counts} for spec in self.server.partitions]})
        else:
            self._answer({"message": "not there", "code": 404}, 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        specs = body["partitionSpecs"]
        if self.path == f"{_TABLE}/partitions" and body["ignoreIfExists"]:
            self.server.partitions += [spec for spec in specs if spec not in self.server.partitions]
        elif self.path == f"{_TABLE}/partitions/drop" and body["ignoreIfNotExists"]:
            self.server.files.append(len([*self.server.folder.rglob("*.csv")]))
            self.server.partitions = [spec for spec in self.server.partitions if spec not in specs]
        self._answer({})

    def _answer(self, form: Any, status: int = 200) -> None:
        data = json.dumps(form).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Nothing."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[_Server]:
    with _Server(tmp_path / "t") as made:
        Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def options(server: _Server) -> dict[str, str]:
    uri = f"http://127.0.0.1:{server.server_port}"
    return {"metastore": "rest", "uri": uri, "token.provider": "bear", "token": "x", "warehouse": "wh"}


def spec(first: str, second: str) -> dict[str, str]:
    return {"p1": first, "p2": second}


@pytest.fixture
def table(options: dict[str, str]) -> FormatTable:
    table = open_catalog(options).get_table("db.t")
    assert isinstance(table, FormatTable)
    values = pa.array([1, 2, 3], pa.int32())
    table.write_arrow(pa.table({"v": values, "p1": ["a", "a", "b"], "p2": ["x", "y", "x"]}))
    return table


@pytest.mark.parametrize("dialect", ["spark", "flink"])
def test_a_dropped_partition_is_forgotten_before_its_files_go(
    server: _Server, options: dict[str, str], table: FormatTable, dialect: str
) -> None:
    assert server.partitions == [spec("a", "x"), spec("a", "y"), spec("b", "x")]
    session = Session(options, dialect=dialect)  # type: ignore[arg-type]
    session.sql("ALTER TABLE db.t DROP PARTITION (p1 = 'a', p2 = 'x')")
    assert server.partitions == [spec("a", "y"), spec("b", "x")]
    assert server.files == [3]
    assert table.to_arrow()["v"].to_pylist() == [2, 3]


def test_some_of_the_columns_name_all_partitions_that_have_them(server: _Server, table: FormatTable) -> None:
    table.add_partitions([spec("a", "empty")])
    table.drop_partitions([{"p1": "a"}])
    assert server.partitions == [spec("b", "x")]
    assert table.to_arrow()["v"].to_pylist() == [3]


def test_a_registered_partition_without_files_can_be_dropped(server: _Server, table: FormatTable) -> None:
    table.add_partitions([spec("c", "x")])
    table.drop_partitions([spec("c", "x")])
    assert spec("c", "x") not in server.partitions
    with pytest.raises(NotFoundError, match="p1=c/p2=x does not exist"):
        table.drop_partitions([spec("c", "x")])
    table.drop_partitions([spec("c", "x")], ignore_if_not_exists=True)
    assert len(server.partitions) == 3
