"""What an alert says, whatever it is sent by."""

import os
import re
from dataclasses import dataclass
from typing import Literal

from maintenance.errors import OptionError


@dataclass(frozen=True, slots=True)
class Alert:
    """One message.

    Attributes:
        fault: identifies what is wrong: the same for its beginning and its end.
        state: whether it begins or is over.
        subject: what it is about: a check of a table, a job, a sensor.
        summary: what was found; `fix`: the next step, empty when it is over.
        link: to the run or the asset in Dagster.
        tables: whose fault it is; none where it is not a table's.
    """

    fault: str
    state: Literal["failed", "recovered"]
    subject: str
    summary: str
    fix: str = ""
    link: str = ""
    tables: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.subject} {self.state}"


_VARIABLE = re.compile(r"\$\{(\w+)\}")


def from_environment(text: str) -> str:
    """The text with each ${NAME} replaced. Raises: OptionError naming a variable that is not set."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in os.environ:
            raise OptionError(f"${{{found[1]}}} is not set", "alert targets", "Set this environment variable.")
        return os.environ[found[1]]

    return _VARIABLE.sub(value, text)
