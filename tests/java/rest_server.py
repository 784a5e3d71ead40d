"""The REST catalog server of Paimon's own tests, in a Java process of its own. It keeps definitions in memory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.java import core
from tests.java.java_catalogs import JavaCatalogs
from tests.java.process import JavaProcess, answer

TOKEN = "tok"
WAREHOUSE = "wh"
_CLASSPATH = Path(__file__).parents[2] / ".cache/rest-server/classpath"


class RestServer(JavaCatalogs):
    """Runs in the Java process: servers, and Java's client of them and of other catalogs."""

    def __init__(self, paimon: Any) -> None:
        super().__init__(paimon)
        self.servers: dict[str, Any] = {}

    def start(self, folder: str) -> str:
        """A server whose warehouse is a folder. Returns its address."""
        import jpype

        maps = jpype.JClass("java.util.HashMap")
        defaults = maps()
        defaults.put("prefix", "paimon")
        defaults.put("warehouse", WAREHOUSE)
        config = self.paimon.rest.responses.ConfigResponse(defaults, maps())
        provider = self.paimon.rest.auth.BearTokenAuthProvider(TOKEN)
        server = self.paimon.rest.RESTCatalogServer(folder, provider, config, WAREHOUSE)
        server.start()
        address = str(server.getUrl())
        self.servers[address] = server
        return address

    def lose_next_answer(self, lose: bool) -> None:
        """Whether the next commit is carried out and answered by an error."""
        self.paimon.rest.RESTCatalogServer.commitSuccessThrowException = lose


def serve(connection: Connection, classpath: list[str]) -> None:
    """Answer calls until the other side hangs up. Runs in the Java process."""
    answer(connection, RestServer(core.start(more=classpath)))


@contextmanager
def running() -> Iterator[JavaProcess]:
    """The Java process. Where the server cannot be had the test is skipped, in CI it fails."""
    reason = core.missing()
    if reason is None and not _CLASSPATH.exists():
        reason = "there is no REST server of Paimon: run scripts/fetch-rest-server"
    if reason is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    process = JavaProcess(serve, _CLASSPATH.read_text().strip().split(":"))
    try:
        yield process
    finally:
        process.close()
