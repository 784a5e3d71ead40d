"""A test alert to the targets of tables.yaml."""

from collections.abc import Sequence

from maintenance.project.config import Project
from maintenance.project.targets.alert import Alert
from maintenance.project.targets.target import Target
from paimon_maintenance.sensors.routes import Routes


def try_targets(project: Project, table: str | None = None) -> int:
    """Send a test alert to every target, or to those that get a table's alerts; print what became of each.

    Returns: how many targets did not take it; 1 if there is no target.
    """
    targets = _targets(project, table)
    if not targets:
        print("tables.yaml names no alert target: add one under 'alerts: targets:'.")
        return 1
    about = f" of {table}" if table else ""
    text, fix = "This is what an alert looks like.", "Nothing is to do."
    alert = Alert("test", "failed", f"Test alert{about}", text, fix, project.alerts.address, (table,) if table else ())
    failed = 0
    for target in targets:
        try:
            target.send(alert)
            print(f"{target.kind}: sent")
        except Exception as error:  # noqa: BLE001 - one target that is down must not silence the others
            failed += 1
            print(f"{target.kind}: {error}")
    return failed


def _targets(project: Project, table: str | None) -> Sequence[Target]:
    if table:
        return [*Routes.of(project.with_patterns([table])).of_tables((table,)).values()]
    everywhere = [*project.alerts.targets]
    for settings in (*project.patterns, *project.tables):
        everywhere += settings.alerts.targets
    return [target for place, target in enumerate(everywhere) if target not in everywhere[:place]]
