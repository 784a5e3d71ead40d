"""Links from Dagster's pages to the console, where its address is known."""

import os
from urllib.parse import quote

import dagster as dg

from paimon_maintenance.assets.project.policies import CONSOLE_VARIABLE

CONSOLE = "console"
"""What the link is called on a page."""


def console_link(*path: str) -> dict[str, dg.UrlMetadataValue]:
    """A page of the console as metadata; nothing where nobody has said where the console is. `path`: its parts."""
    address = console_address(*path)
    return {CONSOLE: dg.MetadataValue.url(address)} if address else {}


def console_address(*path: str) -> str:
    """The address of a page of the console; empty where nobody has said where the console is. `path`: its parts."""
    address = os.environ.get(CONSOLE_VARIABLE, "").rstrip("/")
    return "/".join([address, *map(quote, path)]) if address else ""
