"""Writes the commands of this repository, such as `paimonctl`, into a folder beside the Python that shall run them.

.venv/bin/python scripts/link_commands.py .venv/bin

An installed package brings its commands along. The environments of the make targets find the repository by a .pth file
instead, so its commands are written here, by the names in pyproject.toml.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# A line with #! may not be long, and its path not have blanks; /bin/sh starts any Python, which skips the text.
SCRIPT = """#!/bin/sh
'''exec' "{python}" "$0" "$@"
' '''
import sys

from {module} import {function}

sys.exit({function}())
"""


def link(folder: Path, python: str) -> None:
    """Write the commands into a folder; what stands there as it should is left alone."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    for name, entry in scripts.items():
        module, _, function = entry.partition(":")
        text = SCRIPT.format(python=python, module=module, function=function)
        command = folder / name
        if not command.exists() or command.read_text() != text:
            command.write_text(text)
            command.chmod(0o755)


if __name__ == "__main__":
    link(Path(sys.argv[1]), sys.executable)
