"""`paimon-maintenance`, the command line: ``paimon-maintenance check tables.yaml``."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from maintenance.errors import PaimonError
from paimon_maintenance.commands.check import check


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0 if nothing is wrong, else 1."""
    parser = argparse.ArgumentParser(prog="paimon-maintenance", description="Maintenance of Paimon tables.")
    commands = parser.add_subparsers(required=True, metavar="command")
    checking = commands.add_parser("check", help="check tables.yaml, and that the warehouse has what it names")
    checking.add_argument("file", type=Path, help="path of tables.yaml")
    checking.add_argument("--defaults", action="store_true", help="also show settings at their defaults")
    checking.add_argument("--alerts", action="store_true", help="send a test alert to every target")
    checking.add_argument("--spark", action="store_true", help="start the engine that steps use, and run a task on it")
    checking.set_defaults(
        run=lambda given: check(given.file, defaults=given.defaults, alerts=given.alerts, spark=given.spark)
    )
    console = commands.add_parser(
        "console", help="serve web pages that show the tables, their snapshots and their history"
    )
    console.add_argument("file", type=Path, help="path of tables.yaml")
    console.add_argument("--host", default="127.0.0.1", help="the address to listen on; by default only this machine")
    console.add_argument("-p", "--port", type=int, default=3001, help="the port to listen on")
    console.set_defaults(run=lambda given: _console(given.file, given.host, given.port))
    archive = commands.add_parser(
        "class-archive", help="archive the classes that Spark loads, so that it starts in half the time"
    )
    archive.set_defaults(run=lambda _: _class_archive())
    given = parser.parse_args(arguments)
    code: int = given.run(given)
    return code


def _console(path: Path, host: str, port: int) -> int:
    # What serves pages takes a while to import, and the other commands need none of it.
    from paimon_maintenance.console.serve import serve

    return serve(path, host, port)


def _class_archive() -> int:
    from maintenance.spark.make_class_archive import make_class_archive

    try:
        archive = make_class_archive()
    except PaimonError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    print(f"{archive}: every Spark of this user starts with it; {archive.stat().st_size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
