"""Sends a test alert to every target of tables.yaml: ``python -m sensors.targets [database.table]``.

With a table, only to those who get its alerts. A table that only a pattern finds has the
targets of the patterns that match it.
"""

import argparse
import sys
from collections.abc import Sequence

from assets.project.config import Project, project_of_environment
from assets.targets.alert import Alert
from assets.targets.target import Target
from sensors.routes import Routes


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 if every target took the alert."""
    parser = argparse.ArgumentParser(prog="python -m sensors.targets", description=__doc__)
    parser.add_argument("table", nargs="?", help="database.table: only who gets this one's alerts")
    table = parser.parse_args(arguments).table
    project = project_of_environment()
    targets = _targets(project, table)
    if not targets:
        print("tables.yaml names no alert target: add one under 'alerts: targets:'.")
        return 1
    about = f" of {table}" if table else ""
    text, fix = "This is what an alert looks like.", "Nothing is to do."
    alert = Alert("test", "failed", f"Test alert{about}", text, fix, project.alerts.url, (table,) if table else ())
    failed = 0
    for target in targets:
        try:
            target.send(alert)
            print(f"{target.kind}: sent")
        except Exception as error:  # noqa: BLE001 - one target that is down must not silence the others
            failed += 1
            print(f"{target.kind}: {error}")
    return 1 if failed else 0


def _targets(project: Project, table: str | None) -> Sequence[Target]:
    if table:
        return [*Routes.of(project.with_patterns([table])).of_tables((table,)).values()]
    everywhere = [*project.alerts.targets]
    for settings in (*project.patterns, *project.tables):
        everywhere += settings.alerts.targets
    return [target for place, target in enumerate(everywhere) if target not in everywhere[:place]]


if __name__ == "__main__":
    sys.exit(main())
