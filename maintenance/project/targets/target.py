"""What every kind of alert target has."""

from typing import Any, ClassVar

from pydantic import Field, model_validator

from maintenance.project.entry import Entry
from maintenance.project.targets.alert import SEVERITIES, Alert, Kind, Severity


class Target(Entry):
    """A place that alerts go to. Each kind is a subclass in a module of its own, and is named in the registry."""

    takes_bundles: ClassVar[bool] = True
    """Whether several faults may be one message, or each needs its own."""

    kind: str
    only: tuple[Kind | Severity, ...] = Field(
        default=(),
        description="Alerts of these kinds or severities alone, written as `for`, too; empty: all of them.",
    )

    @model_validator(mode="before")
    @classmethod
    def written_as_for(cls, given: Any) -> Any:
        """`for` and `only` mean the same."""
        if not isinstance(given, dict) or "for" not in given or "only" in given:
            return given
        return {("only" if name == "for" else name): value for name, value in given.items()}

    def takes(self, kind: Kind) -> bool:
        """Whether alerts of a kind go here."""
        return not self.only or kind in self.only or SEVERITIES[kind] in self.only

    def send(self, alert: Alert) -> None:
        """Send one alert. Raises: OSError; OptionError: an environment variable is not set."""
        raise NotImplementedError
