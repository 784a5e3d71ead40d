"""The result of a check of a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of one check on one table.

    Attributes:
        check: its name, the same for all tables.
        passed: whether nothing is wrong.
        summary: a sentence for people; of a failed check it names who, where and since when.
        fix: what to do, with the option that does it; empty where nothing is wrong.
        severe: rows are in danger; of checks that always mean that it need not be said.
        details: numbers and names for plots and tables: int, float, str, or a list of rows (mappings of those).
    """

    check: str
    passed: bool
    summary: str
    fix: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    severe: bool = False
