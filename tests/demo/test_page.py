"""The demo's report as a page."""

from datetime import UTC, datetime
from html.parser import HTMLParser

from paimon_maintenance.demo.console import Example, Maintained, Shown
from paimon_maintenance.demo.correction import Marks
from paimon_maintenance.demo.page import Account, page_of
from paimon_maintenance.demo.report import Change, Check, Corrected, Measured, RoundResult

VOID = {"meta"}


class Reading(HTMLParser):
    """The page as a browser reads it. `cells`: of all tables, by row; `texts`: of the blocks that keep blanks."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[list[str]] = []
        self.texts: list[str] = []
        self.words = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not {"src", "href"} & {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.cells.append([])
        elif tag in ("td", "th"):
            self.cells[-1].append("")
        elif tag == "pre":
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1][-1] += data
        elif "pre" in self.open:
            self.texts[-1] += data
        elif "style" not in self.open:
            self.words += data


def account(*, right: bool) -> Account:
    before = Measured(files=1234, sorted_runs_max=5, sorted_runs_mean=3.25, size=6_600_000, snapshots=20, seconds=0.5)
    after = Measured(files=14, sorted_runs_max=1, sorted_runs_mean=1.0, size=900, snapshots=10, seconds=0.125)
    result = RoundResult(before, after, Maintained(3, 4), batches=20, repeated=4, rows=1000, seconds=30.4)
    row = {"rowkind": "+U", "status": "departed", "event_time": datetime(2013, 7, 11, 13, 51, tzinfo=UTC)}
    change = Change(29, row | {"dep_delay": 0, "arr_delay": None, "tailnum": None})
    return Account(
        results={"db.t": [result, result]},
        queries={"db.t": "a < 1 AND b > 'x'"},
        skipped={"db.t": ["  a = 5: 3 of 4 files skipped"]},
        correction="wind & gusts",
        corrected=Corrected(2201, 7, "deletion_vectors", 12, (("before", Marks(8, 20_000, 0, 0, 0)),)),
        flight="a flight",
        changes=[change],
        audit="db.t: the changelog holds",
        checks=[Check("db.t", 1000, right=True), Check("db.u", 5, right=right)],
        console=[Shown(Example('paimonctl sql "SELECT 1 < 2"', "A comparison."), "  (1 < 2)\n ─────────\n  true")],
        warehouse="/lake/<mine>",
        seconds=107.4,
    )


def test_it_shows_what_the_report_tells() -> None:
    page = page_of(account(right=True))
    seen = Reading(page)
    assert seen.open == []
    assert ["", "run 1", "run 2"] in seen.cells
    assert ["files", "1,234", "14", "1,234", "14"] in seen.cells
    assert ["before", "8", "20,000", "0", "0", "0"] in seen.cells
    assert ["29", "+U", "departed", "2013-07-11 13:51", "on time", "-", "-"] in seen.cells
    assert seen.texts == ['paimonctl sql "SELECT 1 < 2"', "  (1 < 2)\n ─────────\n  true"]
    for text in (
        "in 107 s",
        "/lake/<mine>",
        "a < 1 AND b > 'x'",
        "a = 5: 3 of 4 files skipped",
        "wind & gusts",
        "2,201 rows of 7 files updated with deletion vectors in snapshot 12.",
        "db.t: the changelog holds",
        "A comparison.",
    ):
        assert text in seen.words
    assert page.count('<li class="good">') == 2


def test_a_failed_check_is_marked() -> None:
    page = page_of(account(right=False))
    assert '<li class="bad">The 5 rows of db.u ARE NOT what pandas computes' in page
    assert page.count('<li class="good">') == 1
