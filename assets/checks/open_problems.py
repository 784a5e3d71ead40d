"""What is wrong with a table now, as a report names it."""

from collections.abc import Iterable

from maintenance.monitor.judgement import Judgement
from maintenance.operations.report import StillOpen
from paimon_maintenance.assets.project.config import TableConfig


def open_problems(config: TableConfig, judgements: Iterable[Judgement]) -> list[StillOpen]:
    """Each check that fails, with its next step and whose table it is."""
    who = ", ".join(config.owners)
    return [
        StillOpen(config.identifier, f"{each.check}: {each.summary}", each.fix, who)
        for each in judgements
        if not each.passed
    ]
