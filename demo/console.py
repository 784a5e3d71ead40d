"""What a person would type next: commands of `paimonctl` over the demo's tables, run as they are shown.

Each is a process of its own, the command that lies beside this Python, in the project's folder. A command that fails
ends the demo.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
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
class Compacted:
    """The snapshots of a table before and after its last compaction."""

    before: int
    after: int


def examples(warehouse: str, flights: Compacted) -> list[Example]:
    """The commands of the report. `warehouse`: as a person in the project's folder calls it."""
    call = f"paimonctl --warehouse {shlex.quote(warehouse)} sql"
    honolulu = "month = 7 AND flight_date = DATE '2013-07-11' AND carrier = 'HA' AND flight = 51"
    by_tag = "\n   UNION ALL ".join(
        f"SELECT '{tag}' AS as_of, status, dep_delay, arr_delay FROM demo.flights VERSION AS OF '{tag}' WHERE {honolulu}"
        for tag in ("run-1", "run-2", "run-3")
    )
    states = "\n   UNION ALL ".join(
        f"SELECT {number} AS snapshot, '{name} compaction' AS state, COUNT(*) AS flights, SUM(dep_delay) AS minutes_late\n"
        f"     FROM demo.flights VERSION AS OF {number}"
        for name, number in (("before", flights.before), ("after", flights.after))
    )
    files = "\n   UNION ALL ".join(
        f"SELECT {number} AS snapshot, COUNT(*) AS files, SUM(record_count) AS records, SUM(file_size_in_bytes) AS bytes\n"
        f"     FROM demo.`flights$files` /*+ OPTIONS('scan.snapshot-id' = '{number}') */"
        for number in (flights.before, flights.after)
    )
    return [
        Example(
            f'{call} "SELECT origin, COUNT(*) AS flights, ROUND(AVG(dep_delay), 1) AS mean_delay,\n'
            "          COUNT(CASE WHEN status = 'cancelled' THEN 1 END) AS cancelled\n"
            '   FROM demo.flights GROUP BY origin ORDER BY flights DESC"',
            "Rows that arrived as up to three events each, in many commits, read as one table.",
        ),
        Example(
            f'{call} "{by_tag}\n   ORDER BY as_of"',
            "Time travel by the tags that the runs have set: one flight, first planned, then on its way, then arrived.",
        ),
        Example(
            f'{call} "{states}\n   ORDER BY snapshot"',
            "Time travel by number, to both sides of the last compaction: not a row and not a minute is different.",
        ),
        Example(
            f"{call} {_escaped(files)}",
            "What did change between the two: the same flights in fewer files.",
        ),
        Example(
            f"{call} 'SELECT snapshot_id, commit_kind, commit_user, total_record_count, delta_record_count\n"
            "   FROM demo.`flights$snapshots` ORDER BY snapshot_id DESC LIMIT 5'",
            "The newest commits: each says who made it, and how many records there were before merging.",
        ),
        Example(
            f"{call} \"EXPLAIN SELECT carrier, COUNT(*) FROM demo.flights WHERE month = 7 AND dest = 'HNL' GROUP BY carrier\"",
            "What reaches the scan: only the columns that count, and the condition, which skips other months' files.",
        ),
        Example(
            f"{call} \"CALL sys.expire_snapshots(table => 'demo.flights', retain_max => 3, retain_min => 1,\n"
            '   older_than => CURRENT_TIMESTAMP, dry_run => TRUE)"',
            "A procedure, as a dry run: it says what it would do, and does nothing.",
        ),
    ]


def _escaped(statement: str) -> str:
    """A statement between double quotes of a shell."""
    for special in ("\\", '"', "`", "$"):
        statement = statement.replace(special, "\\" + special)
    return f'"{statement}"'


def show(examples: Sequence[Example], folder: Path, commands: Path | None = None) -> list[Shown]:
    """Run the commands, in the order given, a few at a time.

    Args: `folder`: where they are run; `commands`: where `paimonctl` lies, beside this Python if nothing is said.
    Raises: SystemExit: one failed; it says which, and why.
    """
    program = (commands or Path(sys.executable).parent) / "paimonctl"
    if not program.exists():
        raise SystemExit(f"{program} is not there. scripts/install run writes it.")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda example: Shown(example, _output(example.command, program, folder)), examples))


def _output(command: str, program: Path, folder: Path) -> str:
    """What a command prints. Its words are those that a shell would make of it."""
    _, *arguments = shlex.split(command)
    # Nobody's profile and settings, and a width that does not depend on the terminal.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PAIMON_")}
    done = subprocess.run(
        [str(program), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**environment, "COLUMNS": "200"},
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise SystemExit(f"This command failed with exit code {done.returncode}:\n{command}\n{said}")
    return done.stdout.rstrip()
