"""Runs scripts of this folder, each in a process that begins with pypaimon imported: ``python serve.py``.

Reads lines, each a list in JSON: the script's name, and its arguments. Answers each with one: exit code and output.
What a script has imported is imported here, too, for those that follow: pypaimon imports most of it where it is used.

Runs in an environment of its own, `.venv-pypaimon`, so it knows nothing of the project.
"""

import contextlib
import importlib
import json
import os
import runpy
import sys
import tempfile
import traceback
from pathlib import Path
from typing import IO


def run(script: str, arguments: list[str]) -> int:
    """The exit code of a script. Runs in the process that is forked for it."""
    sys.argv = [script, *arguments]
    try:
        runpy.run_path(str(Path(__file__).parent / script), run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as an interpreter's end
        traceback.print_exc()
        return 1
    return 0


def forked(script: str, arguments: list[str], output: IO[bytes], imported: IO[bytes]) -> int:
    """The exit code of a script in a process of its own. `imported`: takes the names of its modules."""
    child = os.fork()
    if child == 0:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        code = run(script, arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(imported.fileno(), json.dumps([*sys.modules]).encode())
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    for line in sys.stdin:
        script, *arguments = json.loads(line)
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as imported:
            code = forked(script, arguments, output, imported)
            output.seek(0)
            print(json.dumps([code, output.read().decode(errors="replace")]), flush=True)
            imported.seek(0)
            for name in json.loads(imported.read() or b"[]"):
                if name not in sys.modules and not name.startswith("__"):
                    with contextlib.suppress(Exception):
                        importlib.import_module(name)


if __name__ == "__main__":
    main()
