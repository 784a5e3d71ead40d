"""The job that empties the bin; those of operations bring back what steps have put into it."""

from collections.abc import Sequence
from dataclasses import asdict

from maintenance.operations.bin.empty_bin import OPERATION
from maintenance.project.config import TableConfig
from paimon_maintenance.assets.steps.config import launched_config
from paimon_maintenance.assets.steps.step import Step
from paimon_maintenance.assets.warehouse.bins import emptying_of


def empty_bin(tables: Sequence[TableConfig]) -> Step:
    """Destroy what has been in the bin for long enough: as long as the most patient table asks."""
    asked = asdict(emptying_of(tables))
    text = "Destroys what is past the window of the bin."
    return Step(OPERATION, text, launched_config(OPERATION), policy=lambda _: asked)
