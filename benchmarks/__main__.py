"""Run benchmarks one after the other: `python -m benchmarks [--store] [NAME…] [-- ARGUMENTS]`.

Each is a process of its own. `--store` keeps what they find in `benchmarks/results`, with the machine's load before and
after and the share of it that other processes had. ARGUMENTS are passed on to a single one.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from benchmarks.results import TOLD, Moment, Result, told

ALL = (
    "compaction", "minor_compaction", "one_bucket", "append_compaction", "sorting", "ingestion", "merge_engines",
    "planning", "changelog", "deletion_vectors", "file_formats", "file_index", "memory", "sensor", "object_store",
    "expiry", "sql", "engines", "metadata", "history", "machines",
    "rust_client",
)  # fmt: skip

# Of Linux: orphans of the processes that are started here become children of this one.
_PR_SET_CHILD_SUBREAPER = 36
_MOST_SECONDS = 10


def gather() -> None:
    """Wait for what the processes of a benchmark have left running, such as a JVM: its time counts as theirs."""
    end = time.monotonic() + _MOST_SECONDS
    with suppress(ChildProcessError):  # there are no more
        while time.monotonic() < end:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)


def run(name: str, arguments: list[str], *, store: bool) -> int:
    """Run one of them. Returns its exit code."""
    words = ["-m", f"benchmarks.{name}", *arguments]
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures"
        start = Moment.now()
        done = subprocess.run([sys.executable, *words], env={**os.environ, TOLD: str(figures)}, check=False)
        gather()
        found = Result.of(name, " ".join(["python", *words]), told(figures), start, Moment.now())
    print(f"\n{name}: {found.machine_text}", flush=True)
    if store and not done.returncode:
        if not found.figures:
            raise SystemExit(f"benchmarks.{name} tells no figures that could be stored")
        print(f"stored in {found.store().relative_to(Path.cwd())}", flush=True)
    return done.returncode


def main() -> int:
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ALL))
    parser.add_argument("--store", action="store_true")
    given = parser.parse_args(words[:at])
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    names, passed = given.names or list(ALL), words[at + 1 :]
    if passed and len(names) != 1:
        parser.error("arguments after -- are those of one benchmark")
    return next((code for name in names if (code := run(name, passed, store=given.store))), 0)


if __name__ == "__main__":
    sys.exit(main())
