"""Links from Dagster's pages to the console, where its address is known."""

import dagster as dg

from paimon_maintenance.assets.project.console_address import console_address

CONSOLE = "console"
"""What the link is called on a page."""


def console_link(*path: str) -> dict[str, dg.UrlMetadataValue]:
    """A page of the console as metadata; nothing where nobody has said where the console is. `path`: its parts."""
    address = console_address(*path)
    return {CONSOLE: dg.MetadataValue.url(address)} if address else {}
