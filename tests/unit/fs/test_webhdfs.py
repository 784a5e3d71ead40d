"""Namenodes that take turns, are busy, or answer otherwise: against a server that answers as it is told."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from maintenance.errors import StorageAccessError, StorageError
from maintenance.fs import webhdfs
from maintenance.fs.file_io import FileIO

STANDBY = (
    403,
    {"RemoteException": {"exception": "StandbyException", "message": "READ is not supported in state standby"}},
)
SAFE = (403, {"RemoteException": {"exception": "SafeModeException", "message": "Name node is in safe mode"}})
LATE = (
    403,
    {
        "RemoteException": {
            "exception": "IOException",
            "message": "Unable to close file because the last block b does not have enough number of replicas.",
        }
    },
)
MISSING = (404, {"RemoteException": {"exception": "FileNotFoundException", "message": "File /x not found."}})
FOUND = (200, {"FileStatus": {"type": "FILE", "length": 7, "modificationTime": 1, "fileId": 2}})


class Namenode:
    """A server that gives its answers in turn, the last one for ever. `asked`: what it was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, object]] = []
        self.asked: list[str] = []
        namenode = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                """Nothing."""

            def do_GET(self) -> None:
                namenode.asked.append(f"{self.command} {self.path}")
                status, body = namenode.answers.pop(0) if len(namenode.answers) > 1 else namenode.answers[0]
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        for method in ("PUT", "DELETE"):
            setattr(Handler, f"do_{method}", Handler.do_GET)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def namenodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Namenode]]:
    monkeypatch.setattr(webhdfs, "_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(webhdfs, "_LONGEST_WAIT", 0.002)
    actual = [Namenode(), Namenode()]
    yield actual
    for namenode in actual:
        namenode.server.shutdown()
        namenode.server.server_close()


def of_both(namenodes: list[Namenode]) -> FileIO:
    options = {f"dfs.namenode.http-address.lake.nn{n}": namenode.address for n, namenode in enumerate(namenodes)}
    return FileIO.of({"dfs.ha.namenodes.lake": "nn0,nn1", "fs.hdfs.user": "etl", **options})


def test_the_active_namenode_is_asked(namenodes: list[Namenode]) -> None:
    namenodes[0].answers, namenodes[1].answers = [STANDBY], [FOUND]
    assert of_both(namenodes).size("hdfs://lake/a b/%x") == 7
    expected = "GET /webhdfs/v1/a%20b/%25x?op=GETFILESTATUS&user.name=etl"
    assert (namenodes[0].asked, namenodes[1].asked) == ([expected], [expected])


def test_one_that_is_gone_or_starting_is_waited_for(namenodes: list[Namenode]) -> None:
    namenodes[0].server.shutdown()
    namenodes[0].server.server_close()
    namenodes[1].answers = [SAFE, (503, {}), FOUND]
    assert of_both(namenodes).size("hdfs://lake/x") == 7
    assert len(namenodes[1].asked) == 3


def test_datanodes_that_report_late_are_waited_for(namenodes: list[Namenode]) -> None:
    namenodes[0].answers = [LATE, (201, {})]
    namenodes[1].answers = [LATE]
    of_both(namenodes).write_bytes("hdfs://lake/x", b"1")
    assert len(namenodes[0].asked) == 2


def test_one_that_stays_busy(namenodes: list[Namenode]) -> None:
    namenodes[0].answers, namenodes[1].answers = [(503, {})], [STANDBY]
    with pytest.raises(StorageError, match=r"HDFS cannot be reached: .*\(hdfs://lake/x\).*hadoop-conf-dir"):
        of_both(namenodes).read_bytes("hdfs://lake/x")


def test_a_missing_file_is_missing_at_once(namenodes: list[Namenode]) -> None:
    namenodes[0].answers = [MISSING]
    file_io = of_both(namenodes)
    assert (file_io.size("hdfs://lake/x"), file_io.exists("hdfs://lake/x")) == (None, False)
    with pytest.raises(FileNotFoundError):
        file_io.read_bytes("hdfs://lake/x")
    assert (len(namenodes[0].asked), namenodes[1].asked) == (3, [])


def test_users_that_are_refused(namenodes: list[Namenode]) -> None:
    file_io = FileIO.of({"fs.hdfs.token": "dont-show-me"})
    path = f"webhdfs://{namenodes[0].address}/x"
    namenodes[0].answers = [(401, {"RemoteException": {"exception": "SecurityException", "message": "token expired"}})]
    with pytest.raises(StorageAccessError, match=r"does not know this user: token expired.*fs\.hdfs\.token") as caught:
        file_io.read_bytes(path)
    assert "dont-show-me" not in str(caught.value)
    assert "delegation=dont-show-me" in namenodes[0].asked[0]
    namenodes[0].answers = [(403, {"RemoteException": {"exception": "AccessControlException", "message": "denied"}})]
    with pytest.raises(StorageAccessError, match="cannot write: Permission denied"):
        file_io.write_bytes(path, b"")


def test_what_is_not_webhdfs(namenodes: list[Namenode]) -> None:
    namenodes[0].answers = [(404, "nothing here")]
    with pytest.raises(StorageAccessError, match="what answers is not WebHDFS"):
        FileIO().read_bytes(f"webhdfs://{namenodes[0].address}/x")


def test_names_that_no_file_can_have(namenodes: list[Namenode]) -> None:
    file_io, root = of_both(namenodes), "hdfs://lake"
    for name in ("a//b", "a/../b", "a/./b", "a\0b", "\ud800"):
        assert not file_io.exists(f"{root}/{name}")
    assert namenodes[0].asked == []
