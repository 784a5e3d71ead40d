"""The parent of the runs, as `make ui` starts it: all that the rest of the project knows of this package."""

import sys

from paimon_maintenance.run_launcher.launcher import unavailable
from paimon_maintenance.run_launcher.workers import SOCKET_VARIABLE, unsupported

__all__ = ["SOCKET_VARIABLE", "command", "unusable"]


def unusable() -> str | None:
    """Why runs cannot be forked here; None if they can."""
    return unsupported() or unavailable()


def command(address: str) -> list[str]:
    """What starts the parent. `address`: the path of the socket at which it is to listen."""
    return [sys.executable, "-W", "ignore", "-m", "paimon_maintenance.run_launcher.workers", address]
