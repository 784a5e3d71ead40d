"""Where pages of the console are, for links to them."""

import os
from urllib.parse import quote

# Where people find the console.
CONSOLE_VARIABLE = "PAIMON_CONSOLE_URL"


def console_address(*path: str) -> str:
    """The address of a page of the console; empty where nobody has said where the console is. `path`: its parts."""
    address = os.environ.get(CONSOLE_VARIABLE, "").rstrip("/")
    return "/".join([address, *map(quote, path)]) if address else ""
