"""Prints what became of each golden case below the tests' own output."""

from collections import Counter, defaultdict

import pytest

from tests.golden.case import golden_reads
from tests.golden.not_yet import NOT_YET
from tests.golden.test_goldens import reads_by_pattern

_TEST = "test_reads_what_paimon_wrote["


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    cases = {read.id: read.case for read in golden_reads()}
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            name = getattr(report, "nodeid", "").partition(_TEST)[2].removesuffix("]")
            if name in cases:
                outcomes[cases[name]][outcome] += 1
    if not outcomes:
        return
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for pattern, reads in reads_by_pattern().items():
        for read in reads if pattern else ():
            reasons[read.case][NOT_YET[str(pattern)]] += 1
    terminalreporter.section("tables that real Paimon wrote")
    for case in sorted({*outcomes, *reasons}):
        actual = outcomes[case]
        parts = [f"{actual[outcome]:4} {outcome}" for outcome in ("passed", "failed", "error") if actual[outcome]]
        parts += [f"{count:4} not yet: {reason}" for reason, count in sorted(reasons[case].items())]
        terminalreporter.write_line(f"{case:26}" + ",".join(parts))
    total = sum((outcomes[case] for case in outcomes), Counter[str]())
    refused = sum(sum(of.values()) for of in reasons.values())
    terminalreporter.write_line(f"{'all':26}{total['passed']:4} passed, {refused} not yet supported")
