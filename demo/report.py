"""What the demo prints in the end: tables before and after maintenance, a correction, one flight's changelog, and SQL.

Cells and sentences that `page` shows as well have functions of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paimon_maintenance.demo.console import Maintained, Shown
from paimon_maintenance.demo.correction import Marks


@dataclass(frozen=True, slots=True)
class Measured:
    """A table at one moment. `seconds`: how long the table's fixed query took, reading that very snapshot."""

    files: int
    sorted_runs_max: int
    sorted_runs_mean: float
    size: int
    snapshots: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RoundResult:
    """What one run of a table's job did.

    Attributes:
        before: the table after ingestion.
        after: the table after compaction to expiry.
        maintained: the snapshots that these are.
    """

    before: Measured
    after: Measured
    maintained: Maintained
    batches: int
    repeated: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Change:
    """One row of a changelog: `row` has the columns of the audit log, `rowkind` among them."""

    snapshot_id: int
    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Corrected:
    """What an UPDATE of past rows did. `marks`: what the system tables said, and when."""

    rows: int
    touched_files: int
    method: str
    snapshot_id: int
    marks: tuple[tuple[str, Marks], ...]


@dataclass(frozen=True, slots=True)
class Check:
    """Whether the rows of a table are what a computation over the source gives."""

    table: str
    rows: int
    right: bool


_COLUMN = 10


def table_report(identifier: str, query: str, rounds: Sequence[RoundResult]) -> list[str]:
    """The lines about one table: a column pair, before and after, for each round."""
    headings = "".join(f"{f'run {number}':>{_COLUMN}}{'':{_COLUMN}}" for number in range(1, len(rounds) + 1))
    return [
        f"{identifier}",
        f"  {'':<24}{headings}".rstrip(),
        _line("", ["before", "after"] * len(rounds)),
        *(_line(label, values) for label, values in measures(rounds)),
        f"  query: {query}",
        f"  {ingested(rounds)}",
    ]


def measures(rounds: Sequence[RoundResult]) -> list[tuple[str, list[str]]]:
    """What was measured, with the cells before and after each round."""
    pairs = [measured for result in rounds for measured in (result.before, result.after)]
    return [
        ("files", [f"{at.files:,}" for at in pairs]),
        ("sorted runs, most", [f"{at.sorted_runs_max}" for at in pairs]),
        ("sorted runs, mean", [f"{at.sorted_runs_mean:.1f}" for at in pairs]),
        ("size", [_megabytes(at.size) for at in pairs]),
        ("snapshots", [f"{at.snapshots}" for at in pairs]),
        ("query", [f"{at.seconds:.2f} s" for at in pairs]),
    ]


def ingested(rounds: Sequence[RoundResult]) -> str:
    """A sentence about what all rounds have brought."""
    batches, repeated = sum(result.batches for result in rounds), sum(result.repeated for result in rounds)
    return (
        f"{batches} micro-batches committed, {sum(result.rows for result in rounds):,} records after merging within"
        f" each; {repeated} repeated ones recognised; {sum(result.seconds for result in rounds):.0f} s in all"
    )


def _line(label: str, values: Sequence[str]) -> str:
    return f"  {label:<24}" + "".join(f"{value:>{_COLUMN}}" for value in values)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


CHANGE_HEADINGS = ("snapshot", "kind", "status", "event time (UTC)", "departs", "arrives", "plane")


def changelog_report(name: str, changes: Sequence[Change]) -> list[str]:
    """The life of one flight as a subscriber of the changelog sees it."""
    return [
        f"The changelog of {name}",
        *(_change_line(cells) for cells in (CHANGE_HEADINGS, *map(change_cells, changes))),
    ]


def _change_line(cells: Sequence[str]) -> str:
    snapshot, kind, status, moment, departs, arrives, plane = cells
    return f"  {snapshot:>8}  {kind:<6}{status:<12}{moment:<20}{departs:>10}{arrives:>10}  {plane}"


def change_cells(change: Change) -> tuple[str, ...]:
    """A change by CHANGE_HEADINGS."""
    row = change.row
    return (
        str(change.snapshot_id),
        row["rowkind"],
        row["status"],
        f"{row['event_time']:%Y-%m-%d %H:%M}",
        _delay(row["dep_delay"]),
        _delay(row["arr_delay"]),
        row["tailnum"] or "-",
    )


def _delay(minutes: int | None) -> str:
    if minutes is None:
        return "-"
    return "on time" if minutes == 0 else f"{minutes:+d} min"


MARK_HEADINGS = ("", "files", "records", "vectors", "deleted rows", "bytes of vectors")


def correction_report(name: str, corrected: Corrected) -> list[str]:
    """The lines about a correction: what it did, and the deleted rows that stay in data files until a compaction."""
    return [
        f"A correction of {name}",
        f"  {updated(corrected)}",
        *(_mark_line(cells) for cells in (MARK_HEADINGS, *mark_cells(corrected))),
    ]


def updated(corrected: Corrected) -> str:
    """A sentence about what the UPDATE did."""
    how = f"with {corrected.method.replace('_', ' ')} in snapshot {corrected.snapshot_id}"
    return f"{corrected.rows:,} rows of {corrected.touched_files} files updated {how}"


def mark_cells(corrected: Corrected) -> list[tuple[str, ...]]:
    """What the system tables said, by MARK_HEADINGS."""
    return [
        (when, *(f"{number:,}" for number in (at.files, at.records, at.vectors, at.deleted_rows, at.bytes)))
        for when, at in corrected.marks
    ]


def _mark_line(cells: Sequence[str]) -> str:
    when, files, records, vectors, deleted, size = cells
    return f"  {when:<20}{files:>10}{records:>10}{vectors:>10}{deleted:>14}{size:>18}"


def console_report(shown: Sequence[Shown]) -> list[str]:
    """The lines of commands of `paimonctl`, each with what it printed."""
    lines = ["SQL from the command line: what you could type next, in this folder (after: . .venv/bin/activate)"]
    for one in shown:
        lines += ["", f"  {one.example.shows}", f"  $ {one.example.command}"]
        lines += [f"  {line}".rstrip() for line in one.output.splitlines()]
    return lines


def check_report(check: Check) -> str:
    """One line about a check."""
    verdict = "are" if check.right else "ARE NOT"
    return f"The {check.rows:,} rows of {check.table} {verdict} what pandas computes straight from the source."
