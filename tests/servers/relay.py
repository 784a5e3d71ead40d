"""A relay in front of a store's server: it counts requests by kind, makes them slower, and lets some of them fail.

Conditional puts are carried out one at a time, since some emulators look before they write.
"""

import http.client
import random
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

_PASSED_OVER = frozenset({"connection", "expect", "transfer-encoding", "content-length"})
_NOT_RETURNED = frozenset({"transfer-encoding", "connection", "content-length", "server", "date"})
_CHANGES = frozenset({"PUT", "CREATE", "COPY", "DELETE", "BULK_DELETE", "PART_PUT", "PART_POST", "RENAME", "MKDIRS"})
_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
_CONFLICT = (
    b"<Error><Code>ConditionalRequestConflict</Code><Message>The conditional request cannot succeed due to a "
    b"conflicting operation against this resource.</Message></Error>"
)
_NO_CONDITION = b"<Error><Code>PreconditionFailed</Code><Message>At least one did not hold</Message></Error>"


@dataclass
class Faults:
    """Shares of the requests that fail, from 0 to 1.

    Attributes:
        slow_down: answered by 503; busy: conditional puts answered by 409 although nothing is in the way.
        cut_before, cut_after: the connection ends before the request is carried out, or after it.
        only: a regular expression that a request's kind and path must match.
        short_412: the answer to a conditional put that lost names no condition, as with stores other than AWS's.
        delay: seconds before each answer.
    """

    slow_down: float = 0
    busy: float = 0
    cut_before: float = 0
    cut_after: float = 0
    only: str = ""
    short_412: bool = False
    delay: float = 0


@dataclass
class Relay:
    """A running relay.

    Attributes:
        counts: requests by kind; `failed`: by what was done to them; `log`: kinds and paths.
        server: what it is in front of, where somebody wants to know.
        fixed: the answer to every request, None = the server's.
        around: what each changing request is carried out within. One that it refuses with `ConnectionAbortedError`
            is not carried out, and its connection ends.
    """

    url: str
    counts: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    log: list[str] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)
    lock: Any = field(default_factory=threading.Lock)
    creating: Any = field(default_factory=threading.Lock)
    server: Any = None
    fixed: tuple[int, bytes] | None = None
    around: Callable[[str], AbstractContextManager[None]] | None = None
    dice: random.Random = field(default_factory=lambda: random.Random(7))

    def reset(self) -> None:
        with self.lock:
            self.counts.clear()
            self.failed.clear()
            self.log.clear()

    @property
    def total(self) -> int:
        """Requests since the last reset."""
        return self.counts.total()

    @contextmanager
    def failing(self, **faults: Any) -> Iterator[None]:
        """Let requests fail meanwhile."""
        self.reset()
        self.faults = Faults(**faults)
        try:
            yield
        finally:
            self.faults = Faults()

    @contextmanager
    def answering(self, status: int, body: bytes) -> Iterator[None]:
        """Answer every request so meanwhile."""
        self.fixed = status, body
        try:
            yield
        finally:
            self.fixed = None

    def strikes(self, name: str, request: str) -> bool:
        """Whether a fault strikes a request."""
        with self.lock:
            if not re.search(self.faults.only, request) or self.dice.random() >= getattr(self.faults, name):
                return False
            self.failed[name] += 1
            return True


def kind_of(method: str, path: str, headers: Any) -> str:
    """What a request asks for, in the words of S3, or of WebHDFS."""
    parts = urlsplit(path)
    query = parse_qs(parts.query, keep_blank_values=True)
    if "op" in query:
        return query["op"][0]
    if "list-type" in query or "comp=list" in parts.query:
        return "LIST"
    if "delete" in query or "comp=batch" in parts.query:
        return "BULK_DELETE"
    if {"uploads", "uploadId", "partNumber"} & set(query):
        return f"PART_{method}"
    if method == "PUT" and (headers.get("If-None-Match") or headers.get("x-goog-if-generation-match")):
        return "CREATE"
    if method == "PUT" and headers.get("x-amz-copy-source"):
        return "COPY"
    return method


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else an answer waits for the acknowledgement of its head
    relay: Relay
    server_of: tuple[str, int]

    def handle(self) -> None:
        with suppress(ConnectionError):  # whoever asked may have died
            super().handle()

    def log_message(self, *args: object) -> None:
        """Nothing: the relay keeps a log of its own."""

    def serve(self) -> None:
        relay, body = self.relay, self._body()
        kind = kind_of(self.command, self.path, self.headers)
        request = f"{kind} {self.path}"
        with relay.lock:
            relay.counts[kind] += 1
            relay.log.append(f"{request} {self.headers.get('Range') or ''}")
        time.sleep(relay.faults.delay)
        if relay.fixed is not None:
            return self._answer(relay.fixed[0], [], relay.fixed[1])
        if relay.strikes("slow_down", request):
            return self._answer(503, [], _SLOW_DOWN)
        if kind == "CREATE" and relay.strikes("busy", request):
            return self._answer(409, [], _CONFLICT)
        if relay.strikes("cut_before", request):
            return self._cut()
        try:
            with relay.around(request) if relay.around is not None and kind in _CHANGES else nullcontext():
                status, headers, data = self._carry_out(kind, body)
        except ConnectionAbortedError:
            return self._cut()
        if relay.strikes("cut_after", request):
            return self._cut()
        return self._answer(status, headers, data)

    def _body(self) -> bytes:
        if "chunked" not in (self.headers.get("Transfer-Encoding") or ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            body += self.rfile.read(size)
            self.rfile.readline()
            if not size:
                return body

    def _carry_out(self, kind: str, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        if kind != "CREATE":
            return self._forward(body)
        with self.relay.creating:
            status, headers, data = self._forward(body)
        return status, headers, _NO_CONDITION if status == 412 and self.relay.faults.short_412 else data

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(*self.server_of, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _PASSED_OVER}
        connection.request(self.command, self.path, body, {**headers, "Content-Length": str(len(body))})
        response = connection.getresponse()
        data = response.read()
        actual = response.status, response.getheaders(), data
        connection.close()
        return actual

    def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in _NOT_RETURNED:
                self.send_header(name, value)
        whole = {name.lower(): value for name, value in headers}.get("content-length")
        if status not in (204, 304):
            self.send_header("Content-Length", str((whole or 0) if self.command == "HEAD" else len(data)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(data)

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


for _method in ("GET", "PUT", "POST", "DELETE", "HEAD"):
    setattr(_Handler, f"do_{_method}", _Handler.serve)


@contextmanager
def relaying(server: str) -> Iterator[Relay]:
    """A relay in front of a server of this machine. `server`: its URL."""
    host, _, port = server.partition("://")[2].partition(":")
    handler: type[_Handler] = type("Handler", (_Handler,), {"server_of": (host, int(port))})
    listener = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    listener.daemon_threads = True
    listener.request_queue_size = 64
    relay = Relay(f"http://127.0.0.1:{listener.server_port}")
    handler.relay = relay
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    try:
        yield relay
    finally:
        listener.shutdown()
        listener.server_close()
