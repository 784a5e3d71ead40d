"""What a person would type next: commands of `paimonctl` over the demo's tables, run as they are shown.

Each is typed into a shell in the project's folder, where the `paimonctl` that lies beside this Python comes first. A
command that fails ends the demo.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

# More processes than processors would only wait for each other.
_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Example:
    """A command as it is typed into a shell, and a sentence about what it shows."""

    command: str
    shows: str


@dataclass(frozen=True, slots=True)
class Shown:
    """An example that was run. `output`: what it printed."""

    example: Example
    output: str


@dataclass(frozen=True, slots=True)
class Maintained:
    """The snapshots of a table after ingestion, and after the rest of a run: compaction, changelog, indexes."""

    before: int
    after: int


def examples(warehouse: str, flights: Maintained) -> list[Example]:
    """The commands of the report. `warehouse`: as a person in the project's folder calls it."""

    def sql(*lines: str, quote: str = '"') -> str:
        """A command that runs a statement. `quote`: of the shell; between double ones no ` and no $ may stand."""
        return f"paimonctl --warehouse {shlex.quote(warehouse)} sql {quote}" + "\n  ".join(("", *lines)) + quote

    tags = ("run-1", "run-2", "run-3")
    seen = "status, dep_delay, arr_delay"
    honolulu = "month = 7 AND flight_date = DATE '2013-07-11' AND carrier = 'HA' AND flight = 51"
    states = {"before": flights.before, "after": flights.after}
    return [
        Example(
            sql(
                "SELECT origin, COUNT(*) AS flights, ROUND(AVG(dep_delay), 1) AS mean_delay,",
                "  COUNT(CASE WHEN status = 'cancelled' THEN 1 END) AS cancelled",
                "FROM demo.flights GROUP BY origin ORDER BY flights DESC",
            ),
            "The flights came as up to three events each, in many commits; they are read as one row each.",
        ),
        Example(
            sql(
                *_union(
                    (f"SELECT '{tag}' AS as_of, {seen} FROM demo.flights VERSION AS OF '{tag}'", f"WHERE {honolulu}")
                    for tag in tags
                ),
                "ORDER BY as_of",
            ),
            "Time travel to the tags that the runs have set: a flight is first scheduled, then in the air, then there.",
        ),
        Example(
            sql(
                *_union(
                    (
                        f"SELECT '{name} maintenance' AS state, COUNT(*) AS flights, SUM(dep_delay) AS minutes_late",
                        f"FROM demo.flights VERSION AS OF {number}",
                    )
                    for name, number in states.items()
                )
            ),
            "Time travel to before and after the maintenance of the last run: not a flight, not a minute is different.",
        ),
        Example(
            sql(
                *_union(
                    (
                        f"SELECT {number} AS snapshot, COUNT(*) AS files, SUM(record_count) AS records,",
                        "  SUM(file_size_in_bytes) AS bytes",
                        f"FROM demo.`flights$files` VERSION AS OF {number}",
                    )
                    for number in states.values()
                ),
                quote="'",
            ),
            "What has changed between the two: the same rows, merged from more records before, lie in fewer files.",
        ),
        Example(
            sql(
                "EXPLAIN SELECT carrier, COUNT(*) AS flights FROM demo.flights",
                "WHERE month = 7 AND dest = 'HNL' GROUP BY carrier",
            ),
            "What reaches the scan: three columns, and the condition, by which it skips partitions and files.",
        ),
        Example(
            sql(
                "CALL sys.expire_snapshots(table => 'demo.flights', retain_min => 1, retain_max => 3, dry_run => TRUE)",
            ),
            "A procedure as a dry run: it counts the snapshots that it would delete, and deletes none.",
        ),
    ]


def _union(selects: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of queries as one query."""
    for number, lines in enumerate(selects):
        if number:
            yield "UNION ALL"
        yield from lines


def show(examples: Sequence[Example], folder: Path, commands: Path | None = None) -> list[Shown]:
    """Run the commands, in the order given, a few at a time.

    Args: `folder`: where they are run; `commands`: where `paimonctl` lies, beside this Python if nothing is said.
    Raises: SystemExit: one failed; it says which, and why.
    """
    commands = commands or Path(sys.executable).parent
    if not (commands / "paimonctl").exists():
        raise SystemExit(f"There is no paimonctl in {commands}. scripts/install run writes it.")
    # Nobody's profile and settings.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PAIMON_")}
    environment["PATH"] = os.pathsep.join([str(commands), environment.get("PATH", os.defpath)])
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda example: Shown(example, _output(example.command, folder, environment)), examples))


def _output(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """What a command prints that is typed into a shell."""
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise SystemExit(f"This command failed with exit code {done.returncode}:\n{command}\n{said}")
    # Tables are padded to their width, and stand between blank lines.
    return "\n".join(map(str.rstrip, done.stdout.splitlines())).strip("\n")
