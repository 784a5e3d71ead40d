"""Sends a test alert to every target of tables.yaml: ``python -m paimon_maintenance.sensors.targets [database.table]``.

With a table, only to those who get its alerts. A table that only a pattern finds has the
targets of the patterns that match it.
"""

import argparse
import sys
from collections.abc import Sequence

from paimon_maintenance.assets.project.environment import project_of_environment
from paimon_maintenance.sensors.targets.trial import try_targets


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 if every target took the alert."""
    parser = argparse.ArgumentParser(prog="python -m paimon_maintenance.sensors.targets", description=__doc__)
    parser.add_argument("table", nargs="?", help="database.table: only who gets this one's alerts")
    table = parser.parse_args(arguments).table
    return 1 if try_targets(project_of_environment(), table) else 0


if __name__ == "__main__":
    sys.exit(main())
