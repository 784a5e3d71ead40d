"""What maintenance did in a span of time, from the history: the morning's question, answered by one computation.

The console shows it, and `paimonctl report` prints it. What is wrong now is judged by whoever asks, and given in.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from textwrap import wrap
from typing import Any, Protocol

from maintenance.amounts import number_of, size_text
from maintenance.metastore.catalog import Catalog
from maintenance.operations.history import SUCCEEDED, read_span

_NEXT_STEP = "Next step: "


@dataclass(frozen=True, slots=True)
class Deed:
    """An operation of a run.

    Attributes:
        why: what started it. seconds: that it took; None: it does not say.
        files, bytes: of the table before and after; None where they are not known.
        freed: bytes that it took off the storage; None: it does not say.
        proof: how its outcome was verified.
        found, fix: of a failure.
    """

    table: str
    at: datetime
    operation: str
    outcome: str
    why: str
    seconds: float | None
    files: tuple[int | None, int | None]
    bytes: tuple[int | None, int | None]
    freed: int | None
    proof: str
    run_id: str
    found: str
    fix: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Deed":
        """An operation out of a row of the history."""
        details: Mapping[str, Any] = json.loads(row["details"] or "{}")
        found, _, fix = str(details.get("found") or "").partition(_NEXT_STEP)
        return cls(
            row["table_name"],
            row["finished_at"],
            row["operation"].replace("_", " "),
            row["outcome"],
            str(details.get("reason") or ""),
            row["seconds"],
            (row["files_before"], row["files_after"]),
            (row["bytes_before"], row["bytes_after"]),
            details.get("deleted_bytes"),
            str(details.get("proof") or ""),
            row["run_id"] or "",
            found.strip(),
            fix.strip(),
        )

    @property
    def has_failed(self) -> bool:
        return self.outcome != SUCCEEDED


@dataclass(frozen=True, slots=True)
class StillOpen:
    """What is wrong or due now. `who`: has to act; empty: nobody is named."""

    table: str
    problem: str
    fix: str = ""
    who: str = ""


class Judged(Protocol):
    """A judgement over a table."""

    @property
    def check(self) -> str: ...
    @property
    def passed(self) -> bool: ...
    @property
    def summary(self) -> str: ...
    @property
    def fix(self) -> str: ...


def open_problems(table: str, judgements: Iterable[Judged], who: str = "") -> list[StillOpen]:
    """What is wrong with a table now: each check that fails, with its next step. `who`: has to act."""
    return [StillOpen(table, f"{each.check}: {each.summary}", each.fix, who) for each in judgements if not each.passed]


@dataclass(frozen=True, slots=True)
class Report:
    """What was done between two moments, newest first, and what is open now. `left_out`: earlier ones of too many."""

    since: datetime
    until: datetime
    deeds: Sequence[Deed]
    still_open: Sequence[StillOpen] = ()
    left_out: int = 0

    @property
    def tables(self) -> Sequence[str]:
        """Those that were worked on."""
        return sorted({deed.table for deed in self.deeds})

    @property
    def failed(self) -> Sequence[Deed]:
        return [deed for deed in self.deeds if deed.has_failed]

    @property
    def freed(self) -> int:
        return sum(deed.freed or 0 for deed in self.deeds)

    @property
    def seconds(self) -> float:
        return sum(deed.seconds or 0.0 for deed in self.deeds)

    @property
    def summary(self) -> str:
        """The whole in one sentence."""
        if not self.deeds:
            done = "Nothing was done"
        else:
            done = f"{number_of(len(self.deeds), 'operation')} on {number_of(len(self.tables), 'table')}"
            done += f", {number_of(len(self.failed), 'failure')}, {size_text(self.freed)} freed"
        return f"{done}; {number_of(len(self.still_open), 'open problem')} now."


def report(
    catalog: Catalog,
    history: str,
    since: datetime,
    until: datetime,
    still_open: Sequence[StillOpen] = (),
    *,
    table: str | None = None,
) -> Report:
    """What the history says of a span. Nothing where there is no history yet.

    Args: `since`, `until`: with time zones; `table`: what was done to it alone.
    """
    rows, left_out = read_span(catalog, history, since, until, table_name=table)
    return Report(since, until, [Deed.of(row) for row in rows], still_open, left_out)


def lines_of(found: Report) -> Iterator[str]:
    """The report as text, for a terminal or a message."""
    yield f"{_minute(found.since)} to {_minute(found.until)} UTC. {found.summary}"
    for title, deeds in (("Failed", found.failed), ("Done", [deed for deed in found.deeds if not deed.has_failed])):
        if deeds:
            yield f"\n{title}:"
            yield from (f"  {_line(deed)}" for deed in deeds)
    if found.left_out:
        yield f"  and {found.left_out:,} earlier ones"
    if found.still_open:
        yield "\nOpen now:"
    for each in found.still_open:
        who = f" ({each.who})" if each.who else ""
        yield f"  {each.table}{who}: {_with_step(each.problem, each.fix)}"


def past_lines(deeds: Sequence[Deed], width: int) -> Iterator[str]:
    """Operations as text of at most so many columns, each beginning with its day and time."""
    for deed in deeds:
        line = f"{_minute(deed.at)[:10]} {_line(deed)}"
        yield from wrap(line, width, subsequent_indent=" " * 17, break_long_words=True, break_on_hyphens=False)


def _line(deed: Deed) -> str:
    parts = [f"{_minute(deed.at)[11:]} {deed.table}: {deed.operation}"]
    if deed.has_failed:
        parts[0] += f" failed: {_with_step(deed.found, deed.fix)}"
    if deed.seconds is not None:
        parts.append(f"{deed.seconds:.1f} s")
    if deed.files[0] is not None and deed.files[1] is not None:
        parts.append(f"{deed.files[0]:,} → {number_of(deed.files[1], 'file')}")
    if deed.bytes[0] is not None and deed.bytes[1] is not None:
        parts.append(f"{size_text(deed.bytes[0])} → {size_text(deed.bytes[1])}")
    if deed.freed:
        parts.append(f"{size_text(deed.freed)} freed")
    return ", ".join([*parts, *(text for text in (deed.why, deed.proof) if text)])


def _with_step(problem: str, fix: str) -> str:
    """A problem as a sentence, and its next step as another."""
    if not fix:
        return problem
    return f"{problem}{'' if problem.endswith(('.', '?')) else '.'} {_NEXT_STEP}{fix}"


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"
