"""What every kind of alert target has."""

from paimon_maintenance.assets.entry import Entry
from paimon_maintenance.assets.targets.alert import Alert


class Target(Entry):
    """A place that alerts go to. Each kind is a subclass in a module of its own, and is named in the registry."""

    kind: str

    def send(self, alert: Alert) -> None:
        """Send one alert. Raises: OSError; OptionError: an environment variable is not set."""
        raise NotImplementedError
