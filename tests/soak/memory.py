"""How much memory the processes of the soak have, by what they do, and whether that grows."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from tests.family import family

_KINDS = {
    "tests.soak.writer": "writer",
    "pyspark.daemon": "Spark's Python workers",
    "java": "Spark",
    "dagster-daemon": "daemon",
    "run_launcher.workers": "runs",
    "execute_run": "runs",
    "execute_step": "runs",
    "api grpc": "code server",
}
# Those that live as long as the soak; runs and workers come and go.
LASTING = ("writer", "daemon", "code server", "Spark")
# What a process may grow by between the second and the last quarter: a share, and a few MiB that are nothing.
_GROWTH, _NOTHING = 1.2, 32.0


def memory_now() -> dict[str, float]:
    """MiB of this process' descendants now, summed by what they do."""
    found: dict[str, float] = {}
    for pid in family() - {os.getpid()}:
        kind, mib = _process(pid)
        if kind is not None:
            found[kind] = found.get(kind, 0.0) + mib
    return found


def _process(pid: int) -> tuple[str | None, float]:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None, 0.0
    kind = next((kind for word, kind in _KINDS.items() if word in words), None)
    return kind, next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def growth(samples: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, float]]:
    """MiB of each lasting process in the second and in the last quarter of the soak: medians."""
    quarter = len(samples) // 4
    parts = samples[quarter : 2 * quarter], samples[-quarter:]
    found = {}
    for kind in LASTING if quarter else ():
        known = [[each[kind] for each in part if kind in each] for part in parts]
        if all(known):
            found[kind] = median(known[0]), median(known[1])
    return found


def is_flat(early: float, late: float) -> bool:
    return late <= _GROWTH * early + _NOTHING
