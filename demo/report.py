"""What the demo prints in the end: tables before and after maintenance, a correction, and one flight's changelog."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from demo.correction import Marks


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
    """What one run of a table's job did. `before`: after ingestion; `after`: after compaction to expiry."""

    before: Measured
    after: Measured
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
    pairs = [measured for result in rounds for measured in (result.before, result.after)]
    headings = "".join(f"{f'run {number}':>{_COLUMN}}{'':{_COLUMN}}" for number in range(1, len(rounds) + 1))
    lines = [
        f"{identifier}",
        f"  {'':<24}{headings}".rstrip(),
        _line("", ["before", "after"] * len(rounds)),
        _line("files", [f"{at.files:,}" for at in pairs]),
        _line("sorted runs, most", [f"{at.sorted_runs_max}" for at in pairs]),
        _line("sorted runs, mean", [f"{at.sorted_runs_mean:.1f}" for at in pairs]),
        _line("size", [_megabytes(at.size) for at in pairs]),
        _line("snapshots", [f"{at.snapshots}" for at in pairs]),
        _line("query", [f"{at.seconds:.2f} s" for at in pairs]),
        f"  query: {query}",
    ]
    batches, repeated = sum(result.batches for result in rounds), sum(result.repeated for result in rounds)
    lines.append(
        f"  {batches} micro-batches committed, {sum(result.rows for result in rounds):,} records after merging within"
        f" each; {repeated} repeated ones recognised; {sum(result.seconds for result in rounds):.0f} s in all"
    )
    return lines


def _line(label: str, values: Sequence[str]) -> str:
    return f"  {label:<24}" + "".join(f"{value:>{_COLUMN}}" for value in values)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def changelog_report(name: str, changes: Sequence[Change]) -> list[str]:
    """The life of one flight as a subscriber of the changelog sees it."""
    heading = f"{'snapshot':>8}  {'kind':<6}{'status':<12}{'event time (UTC)':<20}{'departs':>10}{'arrives':>10}  plane"
    lines = [f"The changelog of {name}", f"  {heading}"]
    for change in changes:
        row = change.row
        lines.append(
            f"  {change.snapshot_id:>8}  {row['rowkind']:<6}{row['status']:<12}{row['event_time']:%Y-%m-%d %H:%M}    "
            f"{_delay(row['dep_delay']):>10}{_delay(row['arr_delay']):>10}  {row['tailnum'] or '-'}"
        )
    return lines


def _delay(minutes: int | None) -> str:
    if minutes is None:
        return "-"
    return "on time" if minutes == 0 else f"{minutes:+d} min"


def correction_report(name: str, corrected: Corrected) -> list[str]:
    """The lines about a correction: what it did, and the deleted rows that stay in data files until a compaction."""
    how = f"with {corrected.method.replace('_', ' ')} in snapshot {corrected.snapshot_id}"
    lines = [
        f"A correction of {name}",
        f"  {corrected.rows:,} rows of {corrected.touched_files} files updated {how}",
        f"  {'':<20}{'files':>10}{'records':>10}{'vectors':>10}{'deleted rows':>14}{'bytes of vectors':>18}",
    ]
    lines += [
        f"  {when:<20}{at.files:>10,}{at.records:>10,}{at.vectors:>10,}{at.deleted_rows:>14,}{at.bytes:>18,}"
        for when, at in corrected.marks
    ]
    return lines


def check_report(check: Check) -> str:
    """One line about a check."""
    verdict = "are" if check.right else "ARE NOT"
    return f"The {check.rows:,} rows of {check.table} {verdict} what pandas computes straight from the source."
