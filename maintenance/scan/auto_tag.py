"""Names of automatic tags: the period that a tag closes, as text. Source: Java `TagPeriodHandler`."""

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass

from maintenance.options import table as table_options

_DAY = {
    "with-dashes": r"(\d{4})-(\d{2})-(\d{2})",
    "without-dashes": r"(\d{4})(\d{2})(\d{2})",
    "without-dashes-and-spaces": r"(\d{4})(\d{2})(\d{2})",
}
_HOUR = {
    "with-dashes": r"(\d{4})-(\d{2})-(\d{2}) (\d{2})",
    "without-dashes": r"(\d{4})(\d{2})(\d{2}) (\d{2})",
    "without-dashes-and-spaces": r"(\d{4})(\d{2})(\d{2})(\d{2})",
}
_MINUTE = r"(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})"


@dataclass(frozen=True, slots=True)
class AutoTagNames:
    """The names that a table's automatic tags have. `daily`: what follows a space in a name does not count."""

    pattern: str
    daily: bool

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "AutoTagNames":
        """By the options `tag.creation-period`, `tag.creation-period-duration` and `tag.period-formatter`."""
        form = table_options.TAG_PERIOD_FORMATTER.of(options)
        if table_options.TAG_CREATION_PERIOD_DURATION.of(options) is not None:
            return cls(_MINUTE, daily=False)
        match table_options.TAG_CREATION_PERIOD.of(options):
            case "daily":
                return cls(_DAY[form], daily=True)
            case "hourly":
                return cls(_HOUR[form], daily=False)
        return cls(_HOUR["with-dashes"], daily=False)

    def time_of(self, name: str) -> dt.datetime | None:
        """The time in a tag's name, None if it is not an automatic tag's."""
        found = re.fullmatch(self.pattern, name.partition(" ")[0] if self.daily else name, re.ASCII)
        try:
            return None if found is None else dt.datetime(*(int(part) for part in found.groups()))  # type: ignore[arg-type]
        except ValueError:
            return None
