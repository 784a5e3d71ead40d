"""Scripts that pypaimon runs, in its own environment.

To import pypaimon takes longer than most of what is asked of it, so one process does it and is forked for each script.
"""

import json
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-pypaimon" / "bin" / "python"


@cache
def _server() -> "subprocess.Popen[str]":
    """Ends with this process, whose end closes its input."""
    script = Path(__file__).parent / "serve.py"
    return subprocess.Popen([PYTHON, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_script(name: str, *arguments: object) -> str:
    """What a script of this folder prints. Fails if it fails."""
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{json.dumps([name, *map(str, arguments)])}\n")
    server.stdin.flush()
    code, output = json.loads(server.stdout.readline())
    assert code == 0, output
    return str(output)
