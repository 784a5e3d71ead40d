"""Secrets in settings: ``${NAME}`` in a text is the environment variable of that name, read when it is needed."""

import os
import re

from maintenance.errors import OptionError

_VARIABLE = re.compile(r"\$\{(\w+)\}")


def from_environment(text: str, where: str) -> str:
    """The text with each ${NAME} replaced. `where`: of what it is. Raises: OptionError: a variable is not set."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise OptionError(f"${{{match[1]}}} is not set", where, "Set this environment variable.")
        return os.environ[match[1]]

    return _VARIABLE.sub(value, text)


def variables_of(text: str) -> list[str]:
    """The variables that a text names."""
    return _VARIABLE.findall(text)
