"""`paimon-maintenance`, the command line: ``paimon-maintenance check tables.yaml``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from paimon_maintenance.commands.check import check


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0 if nothing is wrong, else 1."""
    parser = argparse.ArgumentParser(prog="paimon-maintenance", description="Maintenance of Paimon tables.")
    commands = parser.add_subparsers(required=True, metavar="command")
    checking = commands.add_parser("check", help="read tables.yaml, and look at what the warehouse holds of it")
    checking.add_argument("file", type=Path, help="path of tables.yaml")
    checking.add_argument("--defaults", action="store_true", help="show also settings that nobody has set")
    checking.add_argument("--alerts", action="store_true", help="send a test alert to every target")
    checking.add_argument("--spark", action="store_true", help="start the engine that steps use, and run a task on it")
    given = parser.parse_args(arguments)
    return check(given.file, defaults=given.defaults, alerts=given.alerts, spark=given.spark)


if __name__ == "__main__":
    sys.exit(main())
