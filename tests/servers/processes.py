"""Programs of servers that do not run as root: there they get a user of their own."""

import os
import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def give_to(user: str, *paths: Path) -> None:
    """Let the server's user own files, and reach them."""
    if os.geteuid() == 0:
        for path in paths:
            shutil.chown(path, user, user)


def command(user: str, *arguments: object) -> Sequence[str]:
    """A command line, run by the server's user where this process is root."""
    as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if os.geteuid() == 0 else []
    return [*as_user, *map(str, arguments)]


def run(user: str, *arguments: object) -> None:
    subprocess.run(command(user, *arguments), check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd="/")
