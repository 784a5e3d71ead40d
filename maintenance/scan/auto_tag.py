"""Names of automatic tags: the period that a tag closes, as text. Source: Java `TagPeriodHandler`."""

import datetime as dt
import re
from dataclasses import dataclass

from maintenance.options import table as table_options
from maintenance.options.model import TableModel

_DAY = {
    "with-dashes": "%Y-%m-%d",
    "without-dashes": "%Y%m%d",
    "without-dashes-and-spaces": "%Y%m%d",
}
_HOUR = {
    "with-dashes": "%Y-%m-%d %H",
    "without-dashes": "%Y%m%d %H",
    "without-dashes-and-spaces": "%Y%m%d%H",
}
_MINUTE = "%Y%m%d%H%M"


@dataclass(frozen=True, slots=True)
class AutoTagNames:
    """The names that a table's automatic tags have.

    Attributes:
        form: as for `strftime`; `daily`: what follows a space in a name does not count.
        period: how long the period of a tag is.
    """

    form: str
    daily: bool
    period: dt.timedelta

    @classmethod
    def of(cls, options: TableModel) -> "AutoTagNames":
        """By the options `tag.creation-period`, `tag.creation-period-duration` and `tag.period-formatter`."""
        form = table_options.TAG_PERIOD_FORMATTER.of(options)
        given = table_options.TAG_CREATION_PERIOD_DURATION.of(options)
        if given is not None:
            return cls(_MINUTE, daily=False, period=given)
        match table_options.TAG_CREATION_PERIOD.of(options):
            case "daily":
                return cls(_DAY[form], daily=True, period=dt.timedelta(days=1))
            case "hourly":
                return cls(_HOUR[form], daily=False, period=dt.timedelta(hours=1))
        return cls(_HOUR["with-dashes"], daily=False, period=dt.timedelta(hours=2))

    def name_of(self, time: dt.datetime) -> str:
        """The name of the tag of the period that begins then."""
        return time.strftime(self.form)

    def time_of(self, name: str) -> dt.datetime | None:
        """The time in a tag's name, None if it is not an automatic tag's."""
        pattern = re.sub("%[mdHM]", r"(\\d{2})", self.form.replace("%Y", r"(\d{4})"))
        match = re.fullmatch(pattern, name.partition(" ")[0] if self.daily else name, re.ASCII)
        try:
            return None if match is None else dt.datetime(*(int(part) for part in match.groups()))  # type: ignore[arg-type]
        except ValueError:
            return None
