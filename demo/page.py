"""The report as one page of HTML, for a browser: everything in one file, nothing fetched."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from paimon_maintenance.demo.console import Shown
from paimon_maintenance.demo.report import (
    CHANGE_HEADINGS,
    MARK_HEADINGS,
    Change,
    Check,
    Corrected,
    RoundResult,
    change_cells,
    check_report,
    ingested,
    mark_cells,
    measures,
    updated,
)


@dataclass(frozen=True, slots=True)
class Account:
    """All that the report tells.

    Attributes:
        results: of each table, its runs.
        queries: of each table, the query that is timed.
        skipped: of tables with file indexes, lines about what queries need not read.
        correction: what was corrected, in words.
        flight: whose changes are shown, in words.
        audit: what the auditor of the changelog found.
        warehouse: path of the tables.
        seconds: that the demo took.
    """

    results: Mapping[str, Sequence[RoundResult]]
    queries: Mapping[str, str]
    skipped: Mapping[str, Sequence[str]]
    correction: str
    corrected: Corrected
    flight: str
    changes: Sequence[Change]
    audit: str
    checks: Sequence[Check]
    console: Sequence[Shown]
    warehouse: str
    seconds: float


_STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --quiet: #5d6b7a; --line: #dde3ea; --paper: #fff; --shade: #f5f7fa;
  --typed: #1f2630; --good: #14804a; --bad: #c0262d; --accent: #2c5cc5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ef; --quiet: #9aa7b5; --line: #323c48; --paper: #161b22;
  --shade: #1f2630; --typed: #0b0f14; --good: #4cc38a; --bad: #ff7b80; --accent: #8fb3ff; } }
body { font: 16px/1.5 system-ui, "Segoe UI", "Liberation Sans", sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 28px; line-height: 1.2; margin: 0 0 4px; }
h2 { font-size: 20px; margin: 48px 0 12px; padding-top: 20px; border-top: 1px solid var(--line); }
h3 { font-size: 16px; margin: 28px 0 6px; }
p { margin: 6px 0; } .quiet { color: var(--quiet); }
ul.checks { list-style: none; padding: 0; margin: 16px 0 0; }
.good::before { content: "\\2713\\00a0"; color: var(--good); font-weight: 700; }
.bad::before { content: "\\2717\\00a0"; color: var(--bad); font-weight: 700; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; margin: 8px 0; }
th, td { padding: 4px 12px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; } th:first-child, td:first-child { text-align: left; padding-left: 0; }
table.left th, table.left td { text-align: left; }
th.run { text-align: center; color: var(--ink); border-left: 1px solid var(--line); }
td.before, th.before { border-left: 1px solid var(--line); color: var(--quiet); }
code { font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", "Liberation Mono", monospace; background: var(--shade);
  padding: 1px 5px; border-radius: 4px; }
figure { margin: 22px 0 0; } figcaption { margin-bottom: 8px; }
pre { margin: 0; padding: 12px 16px; overflow-x: auto; font: 13px/1.5 ui-monospace, "DejaVu Sans Mono",
  "Liberation Mono", monospace; }
pre.command { background: var(--typed); color: #e4e9ef; border: 1px solid var(--line);
  border-bottom: 0; border-radius: 8px 8px 0 0; }
pre.command::before { content: "$ "; color: #4cc38a; }
pre.output { background: var(--shade); border: 1px solid var(--line); border-top: 0; border-radius: 0 0 8px 8px; }
"""


def page_of(account: Account) -> str:
    """The page."""
    parts = [*_head(account), *_tables(account), *_corrected(account), *_changelog(account), *_console(account)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>A year of flights in Paimon tables</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _head(account: Account) -> Iterable[str]:
    yield "<h1>A year of flights in Paimon tables</h1>"
    yield (
        f'<p class="quiet">What <code>make demo</code> did in {account.seconds:.0f} s. The tables, for any reader of'
        f" Apache Paimon: <code>{escape(account.warehouse)}</code>. Dagster with these runs: <code>make ui</code></p>"
    )
    yield '<ul class="checks">'
    for check in account.checks:
        yield f'<li class="{"good" if check.right else "bad"}">{escape(check_report(check))}</li>'
    yield "</ul>"


def _tables(account: Account) -> Iterable[str]:
    yield "<h2>Tables before and after maintenance</h2>"
    yield '<p class="quiet">Each run of a table\'s job ingests, compacts, writes indexes, tags and expires.</p>'
    for identifier, rounds in account.results.items():
        numbers = range(1, len(rounds) + 1)
        yield f'<h3>{escape(identifier)}</h3>\n<div class="wide"><table>'
        yield (
            "<tr><th></th>" + "".join(f'<th class="run" colspan="2">run {number}</th>' for number in numbers) + "</tr>"
        )
        yield "<tr><th></th>" + '<th class="before">before</th><th>after</th>' * len(rounds) + "</tr>"
        for label, values in measures(rounds):
            cells = zip(values[::2], values[1::2], strict=True)
            pairs = (f'<td class="before">{escape(before)}</td><td>{escape(after)}</td>' for before, after in cells)
            yield f"<tr><td>{escape(label)}</td>{''.join(pairs)}</tr>"
        yield f"</table></div>\n<p>query: <code>{escape(account.queries[identifier])}</code></p>"
        yield f'<p class="quiet">{escape(ingested(rounds))}.</p>'
        if account.skipped.get(identifier):
            yield "<p>What file indexes skip:</p>\n<ul>"
            yield from (f"<li>{escape(line.strip())}</li>" for line in account.skipped[identifier])
            yield "</ul>"


def _corrected(account: Account) -> Iterable[str]:
    yield f"<h2>A correction of past rows</h2>\n<p>{escape(account.correction)}</p>"
    yield f"<p>{escape(updated(account.corrected))}.</p>"
    yield from _table(MARK_HEADINGS, mark_cells(account.corrected))


def _changelog(account: Account) -> Iterable[str]:
    yield f"<h2>The changelog of one flight</h2>\n<p>{escape(account.flight)}</p>"
    yield from _table(CHANGE_HEADINGS, map(change_cells, account.changes), kind="left")
    yield f'<p class="quiet">{escape(account.audit)}</p>'


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "right") -> Iterable[str]:
    yield f'<div class="wide"><table class="{kind}">'
    yield "<tr>" + "".join(f"<th>{escape(heading)}</th>" for heading in headings) + "</tr>"
    for cells in rows:
        yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    yield "</table></div>"


def _console(account: Account) -> Iterable[str]:
    yield "<h2>SQL from the command line</h2>"
    yield (
        "<p>The same tables through <code>paimonctl</code>, without Spark. You can type these commands in the project's"
        " folder, after <code>. .venv/bin/activate</code>.</p>"
    )
    for shown in account.console:
        yield f"<figure><figcaption>{escape(shown.example.shows)}</figcaption>"
        yield f'<pre class="command">{escape(shown.example.command)}</pre>'
        yield f'<pre class="output">{escape(shown.output)}</pre></figure>'
