"""An Azure Blob server of the tests (azurite), on a free port of this machine: `scripts/azurite` installs it."""

import base64
import hashlib
import hmac
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen
from uuid import uuid4

from tests.servers.processes import free_port

_MAIN = Path(__file__).parents[2] / ".cache/azurite/node_modules/azurite/dist/src/blob/main.js"
# The account that every azurite has.
ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_VERSION = "2021-08-06"


class Azure:
    """A running server. `url`: of it, or of a relay in front of it; `own_url`: its own."""

    def __init__(self, url: str, own_url: str | None = None) -> None:
        self.url, self.own_url = url, own_url or url

    def options(self, container: str) -> dict[str, str]:
        """Catalog options of a warehouse in a container, as a Flink job has them, and where the server is."""
        host = f"{ACCOUNT}.dfs.core.windows.net"
        keys = {f"fs.azure.account.key.{host}": _KEY, "fs.azure.endpoint": f"{self.url}/{ACCOUNT}"}
        return {"warehouse": f"abfs://{container}@{host}/wh", **keys}

    def new_container(self) -> str:
        name = f"c{uuid4().hex}"
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": _VERSION}
        signed = "\n".join(
            (
                "PUT",
                *([""] * 11),
                *(f"{key}:{value}" for key, value in headers.items()),
                f"/{ACCOUNT}/{ACCOUNT}/{name}",
                "restype:container",
            )
        )
        digest = hmac.new(base64.b64decode(_KEY), signed.encode(), hashlib.sha256).digest()
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
        urlopen(Request(f"{self.own_url}/{ACCOUNT}/{name}?restype=container", method="PUT", headers=headers)).close()
        return name


@contextmanager
def running() -> Iterator[Azure]:
    """Raises: FileNotFoundError: it is not installed."""
    if not _MAIN.exists():
        raise FileNotFoundError("no Azure Blob server: run scripts/azurite")
    port = free_port()
    place = ["--blobHost", "127.0.0.1", "--blobPort", str(port)]
    options = ["--silent", "--skipApiVersionCheck", "--inMemoryPersistence", "--disableTelemetry"]
    server = subprocess.Popen(
        ["node", str(_MAIN), *place, *options], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    try:
        azure = Azure(f"http://127.0.0.1:{port}")
        for _ in range(300):
            try:
                azure.new_container()
                break
            except URLError:
                time.sleep(0.1)
        yield azure
    finally:
        server.terminate()
        server.wait(30)
