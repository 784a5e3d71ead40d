"""Sends a test alert to every target of tables.yaml: ``python -m sensors.targets``."""

import sys

from assets.config import project_of_environment
from sensors.alerts import tell
from sensors.targets.alert import Alert


def main() -> int:
    config = project_of_environment().alerts
    if not config.targets:
        print("tables.yaml names no alert target: add one under 'alerts: targets:'.")
        return 1
    alert = Alert("test", "failed", "Test alert", "This is what an alert looks like.", "Nothing is to do.", config.url)
    _, troubles = tell([alert], config)
    print("\n".join(troubles) or f"Sent to {len(config.targets)} targets.")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
