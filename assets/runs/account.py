"""The account that goes along the steps of a run: step -> the numbers that later steps and the closing record show.

A dry run of one step makes those behind it dry as well, for they would work on what has not been done. What a dry step
finds is shown with the step alone: it is not part of the account, so neither the history nor the asset shows it.
"""

from collections.abc import Mapping
from typing import Any

Account = dict[str, Any]

# Beside the steps: the table's shape before the first of them, and whether one was dry.
BEFORE = "before"
DRY_RUN = "dry_run"


def steps_of(account: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """What was done: step -> its numbers."""
    return {step: numbers for step, numbers in account.items() if step not in (BEFORE, DRY_RUN)}


def is_dry(account: Mapping[str, Any]) -> bool:
    """Whether a step before was a dry run."""
    return bool(account.get(DRY_RUN))


def after_dry_step(account: Mapping[str, Any]) -> Account:
    """The account behind a dry step."""
    return {**account, DRY_RUN: True}
