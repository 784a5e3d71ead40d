"""A Google Cloud Storage server of the tests (fake-gcs-server), on a free port of this machine: `scripts/gcs-server`.

The server speaks Google's JSON API, and there it honours conditions (`ifGenerationMatch`), one request at a time. Of
the XML API, which the storage's driver speaks, it has reads and deletions only: a put without an upload type is
refused. So a gateway of this process stands in front of it and says each request of the XML API in JSON. It decides
nothing itself: whether a name is taken, only the server says. What it holds itself are the parts of an upload until its
end, as there is no request for them in JSON, and the tags of reads, since the server ignores `If-None-Match`.
"""

import http.client
import json
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit
from uuid import uuid4
from xml.sax.saxutils import escape

from tests.servers.processes import free_port

_PROGRAM = Path(__file__).parents[2] / ".cache/gcs-server/fake-gcs-server"
_PAGE = 1000
_BOUNDARY = "part-of-an-upload"
_NOT_RETURNED = frozenset({"transfer-encoding", "connection", "content-length", "date"})
_CODES = {404: "NoSuchKey", 412: "PreconditionFailed", 416: "InvalidRange"}


class GCS:
    """A running server. `url`: of the gateway, or of a relay in front of it; `folder`: for files with keys."""

    def __init__(self, url: str, server: str, folder: Path) -> None:
        self.url, self.server, self.folder = url, server, folder

    def behind(self, url: str) -> "GCS":
        """The same server, reached through a relay."""
        return GCS(url, self.server, self.folder)

    def options(self, bucket: str) -> dict[str, str]:
        """Catalog options of a warehouse in a bucket, as a Flink job has them."""
        file = self.folder / "keys.json"
        no_keys = {"client_email": "", "private_key": "", "private_key_id": ""}
        file.write_text(json.dumps({"disable_oauth": True, **no_keys}))
        actual = {"fs.gs.storage.root.url": self.url, "fs.gs.auth.service.account.json.keyfile": str(file)}
        return {"warehouse": f"gs://{bucket}/wh", **actual}

    def new_bucket(self) -> str:
        name = f"b{uuid4().hex}"
        status, _, data = _ask(self.server, "POST", "/storage/v1/b", json.dumps({"name": name}).encode())
        assert status == 200, data
        return name


def _ask(
    server: str, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, Mapping[str, str], bytes]:
    connection = http.client.HTTPConnection(server.partition("://")[2], timeout=60)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()


class _Gateway(BaseHTTPRequestHandler):
    """Requests of the XML API, carried out by requests of the JSON API."""

    protocol_version = "HTTP/1.1"
    server_url: str
    uploads: dict[str, dict[int, bytes]]

    def log_message(self, *args: object) -> None:
        """Nothing."""

    def serve(self) -> None:
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path.lstrip("/")).partition("/")
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.command == "GET" and not key:
            self._list(bucket, query)
        elif self.command in ("GET", "HEAD"):
            self._read(bucket, key)
        elif self.command == "DELETE":
            self._passed_on(*_ask(self.server_url, "DELETE", _object(bucket, key)))
        elif "uploads" in query or "uploadId" in query:
            self._upload_part(bucket, key, query, body)
        elif source := self.headers.get("x-goog-copy-source"):
            above, _, name = unquote(source.lstrip("/")).partition("/")
            target = f"{_object(above, name)}/rewriteTo{_object(bucket, key).removeprefix('/storage/v1')}"
            self._created(*_ask(self.server_url, "POST", target, b"{}"))
        else:
            self._created(*self._put(bucket, key, body, self.headers.get("x-goog-if-generation-match")))

    def _put(
        self, bucket: str, key: str, body: bytes, generation: str | None = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        condition = "" if generation is None else f"&ifGenerationMatch={generation}"
        head = (
            f"--{_BOUNDARY}\r\nContent-Type: application/json\r\n\r\n{json.dumps({'name': key})}\r\n--{_BOUNDARY}\r\n"
        )
        whole = (
            head.encode() + b"Content-Type: application/octet-stream\r\n\r\n" + body + f"\r\n--{_BOUNDARY}--".encode()
        )
        return _ask(
            self.server_url,
            "POST",
            f"/upload/storage/v1/b/{bucket}/o?uploadType=multipart{condition}",
            whole,
            {"Content-Type": f"multipart/related; boundary={_BOUNDARY}"},
        )

    def _upload_part(self, bucket: str, key: str, query: Mapping[str, str], body: bytes) -> None:
        if "uploads" in query:
            upload = uuid4().hex
            self.uploads[upload] = {}
            return self._answer(200, {}, _xml("InitiateMultipartUploadResult", UploadId=upload))
        parts = self.uploads[query["uploadId"]]
        if "partNumber" in query:
            parts[int(query["partNumber"])] = body
            return self._answer(200, {"ETag": f'"{query["partNumber"]}"'}, b"")
        status, _, data = self._put(bucket, key, b"".join(parts[number] for number in sorted(parts)))
        actual = json.loads(data) if status == 200 else {}
        del self.uploads[query["uploadId"]]
        return self._answer(status, {}, _xml("CompleteMultipartUploadResult", ETag=f'"{actual.get("etag")}"'))

    def _read(self, bucket: str, key: str) -> None:
        asked = {"Range": actual} if (actual := self.headers.get("Range")) else {}
        path = f"/{bucket}/{quote(key, safe='/')}"
        status, headers, data = _ask(self.server_url, self.command, path, b"", asked)
        if status in (200, 206) and self.headers.get("If-None-Match") == headers.get("etag"):
            return self._answer(304, {}, b"")
        return self._passed_on(status, headers, data)

    def _list(self, bucket: str, query: Mapping[str, str]) -> None:
        asked = {
            "prefix": query.get("prefix", ""),
            "delimiter": query.get("delimiter", ""),
            "maxResults": query.get("max-keys", str(_PAGE)),
            "pageToken": query.get("continuation-token", ""),
        }
        text = "&".join(f"{name}={quote(value, safe='')}" for name, value in asked.items() if value)
        status, headers, data = _ask(self.server_url, "GET", f"/storage/v1/b/{bucket}/o?{text}")
        if status != 200:
            return self._passed_on(status, headers, data, "NoSuchBucket")
        document = json.loads(data)
        items = "".join(
            _xml(
                "Contents", Key=item["name"], Size=item["size"], LastModified=item["updated"], ETag=f'"{item["etag"]}"'
            )
            for item in document.get("items", [])
        )
        prefixes = "".join(_xml("CommonPrefixes", Prefix=prefix) for prefix in document.get("prefixes", []))
        token = document.get("nextPageToken")
        more = f"<NextContinuationToken>{escape(token)}</NextContinuationToken>" if token else ""
        return self._answer(200, {}, f"<ListBucketResult>{items}{prefixes}{more}</ListBucketResult>")

    def _created(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        if status != 200:
            return self._passed_on(status, headers, data)
        document = json.loads(data)
        made = document.get("resource", document)
        text = _xml("CopyObjectResult", ETag=f'"{made["etag"]}"', LastModified=made["updated"])
        return self._answer(200, {"ETag": f'"{made["etag"]}"'}, text if "resource" in document else b"")

    def _passed_on(self, status: int, headers: Mapping[str, str], data: bytes, code: str | None = None) -> None:
        """The server's answer; an error in the words of the XML API."""
        if status < 400:
            return self._answer(status, headers, data)
        named = _xml("Error", Code=code or _CODES.get(status, "Error"), Message=f"The server answered {status}")
        return self._answer(status, {}, named)

    def _answer(self, status: int, headers: Mapping[str, str], data: bytes | str) -> None:
        content = data if isinstance(data, bytes) else data.encode()
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in _NOT_RETURNED:
                self.send_header(name, value)
        if status not in (204, 304):
            head = headers.get("content-length", "0")
            self.send_header("Content-Length", head if self.command == "HEAD" else str(len(content)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(content)


for _method in ("GET", "PUT", "POST", "DELETE", "HEAD"):
    setattr(_Gateway, f"do_{_method}", _Gateway.serve)


def _object(bucket: str, key: str) -> str:
    return f"/storage/v1/b/{bucket}/o/{quote(key, safe='')}"


def _xml(name: str, **values: object) -> str:
    inside = "".join(f"<{key}>{escape(str(value))}</{key}>" for key, value in values.items())
    return f"<{name}>{inside}</{name}>"


@contextmanager
def running(folder: Path) -> Iterator[GCS]:
    """A server; `folder`: for files with keys. Raises: FileNotFoundError: it is not installed."""
    if not _PROGRAM.exists():
        raise FileNotFoundError("no Google Cloud Storage server: run scripts/gcs-server")
    port = free_port()
    place = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-public-host", f"127.0.0.1:{port}"]
    server = subprocess.Popen(
        [_PROGRAM, *place, "-backend", "memory", "-log-level", "error"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    attributes: dict[str, Any] = {"server_url": url, "uploads": {}}
    gateway = ThreadingHTTPServer(("127.0.0.1", 0), type("Gateway", (_Gateway,), attributes))
    gateway.daemon_threads = True
    gateway.request_queue_size = 64
    threading.Thread(target=gateway.serve_forever, daemon=True).start()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        gcs = GCS(f"http://127.0.0.1:{gateway.server_port}", url, folder)
        for _ in range(300):
            try:
                gcs.new_bucket()
                break
            except OSError:
                time.sleep(0.1)
        yield gcs
    finally:
        gateway.shutdown()
        gateway.server_close()
        server.terminate()
        server.wait(30)
