"""REPLACE TABLE behind a REST server: what it is sent, and servers that do not know the call.

The server of Paimon's tests (1.4) has no such call, so one that keeps definitions alone stands in.
"""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from maintenance.catalog import Catalog, Schema, open_catalog
from maintenance.errors import NotFoundError, UnsupportedError

_TABLE = "/v1/databases/db/tables/t"
_FORM: dict[str, Any] = {
    "fields": [{"id": 0, "name": "k", "type": "BIGINT"}],
    "partitionKeys": [],
    "primaryKeys": [],
    "options": {},
    "comment": None,
}


class _Server(HTTPServer):
    """`replacing`: the status that it answers a replacement with."""

    replacing = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, Any]] = []
        self.form: dict[str, Any] = dict(_FORM)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        if self.path.startswith("/v1/config"):
            self._answer(200, {"defaults": {"warehouse": "wh"}, "overrides": {}})
        elif self.path == _TABLE:
            described = {"id": "7", "name": "t", "path": "/nowhere/t", "isExternal": True, "schemaId": 0}
            self._answer(200, {**described, "schema": self.server.form})
        else:
            self._answer(404, {"message": "not there", "code": 404})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        if self.path != f"{_TABLE}/replace":
            self._answer(404, {"message": "not there", "code": 404})
            return
        if self.server.replacing == 200:
            self.server.form = body["schema"]
        self._answer(self.server.replacing, None)

    def _answer(self, status: int, form: Any) -> None:
        data = b"" if form is None else json.dumps(form).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Nothing."""


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def catalog(server: _Server) -> Catalog:
    uri = f"http://127.0.0.1:{server.server_port}"
    return open_catalog({"metastore": "rest", "uri": uri, "token.provider": "bear", "token": "x"})


NEW = Schema([("k", "BIGINT NOT NULL"), ("v", "STRING")], ["k"], options={"bucket": "2"})


def test_the_server_gets_the_new_schema(server: _Server, catalog: Catalog) -> None:
    catalog.replace_table("db.t", NEW)
    [(path, body)] = server.asked
    assert path == f"{_TABLE}/replace"
    assert [(field["name"], field["type"]) for field in body["schema"]["fields"]] == [
        ("k", "BIGINT NOT NULL"),
        ("v", "STRING"),
    ]
    assert body["schema"]["primaryKeys"] == ["k"]
    assert body["schema"]["options"]["bucket"] == "2"
    table = catalog.get_table("db.t")
    assert table.schema.field_names == ("k", "v")


@pytest.mark.parametrize("status", [404, 501])
def test_a_server_that_knows_no_replacement(server: _Server, catalog: Catalog, status: int) -> None:
    server.replacing = status
    with pytest.raises(UnsupportedError):
        catalog.replace_table("db.t", NEW)
    with pytest.raises(NotFoundError, match=r"db\.missing"):
        catalog.replace_table("db.missing", NEW)


def test_the_server_says_whether_a_drop_deletes_files(catalog: Catalog) -> None:
    assert not catalog.deletes_files("db.t")
    with pytest.raises(NotFoundError, match=r"db\.missing"):
        catalog.deletes_files("db.missing")
