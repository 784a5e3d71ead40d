"""The summary that goes along the steps of a run: what each has done, for later steps and for the closing record.

A dry run of one step makes those behind it dry as well, for they would work on what has not been done. What a dry step
finds is shown with the step alone: it is not part of the summary, so neither the history nor the asset shows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

Fact = int | float | str
Numbers = Mapping[str, int | float]


@dataclass(frozen=True, slots=True)
class StepSummary:
    """What one step has done.

    Attributes:
        facts: the numbers of its report by their names, `seconds` among them, and a few words.
        before, after: the table's shape, where the step has measured it, as of `shape_numbers`.
    """

    facts: Mapping[str, Fact] = field(default_factory=dict)
    before: Numbers = field(default_factory=dict)
    after: Numbers = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What the steps of a run have done to a table.

    Attributes:
        steps: by their names, in the order in which they ran.
        before: the table's shape before the first step that measured it.
        is_dry: a step was a dry run, so those behind it are.
        table: that the run is about, where its steps are those of any table.
    """

    steps: Mapping[str, StepSummary] = field(default_factory=dict)
    before: Numbers = field(default_factory=dict)
    is_dry: bool = False
    table: str = ""

    @classmethod
    def of(cls, step: str, done: StepSummary) -> "RunSummary":
        """That of a run with one step."""
        return cls().and_then(step, done)

    def and_then(self, step: str, done: StepSummary) -> "RunSummary":
        """The summary behind one more step."""
        return replace(self, steps={**self.steps, step: done}, before=self.before or done.before)

    def and_dry(self) -> "RunSummary":
        """The summary behind a dry run."""
        return replace(self, is_dry=True)


def fields_of(report: Any) -> dict[str, Any]:
    """A report's fields by name: first its own, then what all reports have."""
    return {
        each.name: getattr(report, each.name) for each in sorted(fields(report), key=lambda each: each.kw_only is True)
    }


def report_numbers(report: Any) -> dict[str, int | float]:
    """The fields of an operation's report that are numbers."""
    return {
        name: value
        for name, value in fields_of(report).items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
