"""The console as a test asks it: pages by their addresses, with no server in between."""

import asyncio
import re
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import dagster as dg
from starlette.applications import Starlette

from paimon_maintenance.console.app import application
from paimon_maintenance.console.lake import Lake
from paimon_maintenance.console.looks import Looks


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    html: str

    @property
    def text(self) -> str:
        """What a person reads, on one line; titles of pictures count."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.html)).split())

    def links(self) -> list[str]:
        return [unescape(address) for address in re.findall(r'href="([^"]*)"', self.html)]

    def section(self, name: str) -> str:
        """The text of a part of the page."""
        found = re.search(rf'<section id="{name}".*?</section>', self.html, re.DOTALL)
        assert found is not None, f"no section {name}"
        return Answer(self.status, self.headers, found[0]).text


@dataclass
class Site:
    """The console over a tables.yaml. `hosts`: as the application takes them; `seconds`: for which it remembers."""

    path: Path
    instance: dg.DagsterInstance
    hosts: tuple[str, ...] = ()
    seconds: float = 0.0
    app: Starlette = field(init=False)

    def __post_init__(self) -> None:
        # Every look is waited for, and nothing is remembered unless that is asked for: pages show how things are.
        lake = Lake(self.path, self.instance, seconds=self.seconds)
        self.app = application(lake, self.hosts, Looks(seconds=0, patience=60))

    def get(self, address: str, method: str = "GET", host: str = "console.test") -> Answer:
        """Ask for a page."""
        path, _, query = address.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(b"host", host.encode())], "server": ("console.test", 80), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        sent: list[dict[str, Any]] = []

        asked = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            # After the request nothing comes: a browser that stays.
            return asked.pop() if asked else await asyncio.Future()

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        body = b"".join(message.get("body", b"") for message in sent[1:])
        headers = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], headers, body.decode())
