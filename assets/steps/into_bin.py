"""Where a step puts what it deletes: into the bin, if the table has the policy `bin`."""

from assets.steps.step import Work
from maintenance.operations.bin.run import BinRun


def into_bin(work: Work, operation: str) -> BinRun | None:
    """The run of the bin that takes what a step deletes; None where the table's policy asks for none."""
    if work.described.bin is None:
        return None
    run = BinRun.begin(work.table, work.catalog.root(), operation)
    work.say(f"What this step deletes can be restored from the bin: run {run.head.run}.")
    return run
