"""The Java that Spark starts with, if this machine has one: where Spark itself looks, JAVA_HOME and then PATH."""

import os
import re
import shutil
import subprocess
from pathlib import Path

JAVA_KEY = "spark.driver.extraJavaOptions"
"""Spark's setting of what the JVM of a driver is started with."""
_OLDEST = 17
_RELEASE = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)
_SAID = re.compile(r'version "(?:1\.)?(\d+)')
_SECONDS = 10.0


def java_found() -> str | None:
    """The path of the program; None: there is none that is new enough."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None or not os.access(program, os.X_OK):
        return None
    return program if _version(Path(program)) >= _OLDEST else None


def _version(program: Path) -> int:
    """The first number of its version: of the file that every Java has beside it, else as it says itself."""
    try:
        found = _RELEASE.search((program.resolve().parents[1] / "release").read_text(errors="replace"))
    except OSError:
        found = None
    if found is None:
        try:
            said = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return 0
        found = _SAID.search(said.stderr)
    return int(found[1]) if found else 0
