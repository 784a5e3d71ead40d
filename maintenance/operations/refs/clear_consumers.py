"""Remove consumers whose names match a pattern: procedure `clear_consumers`."""

import re

from maintenance.errors import OptionError
from maintenance.table.table import Table


def clear_consumers(
    table: Table, *, including: str = ".*", excluding: str | None = None, dry_run: bool = False
) -> tuple[str, ...]:
    """Delete consumers, so that they hold no snapshot back any more. Returns their names.

    Args: `including`, `excluding`: regular expressions that the whole name matches, or does not; `dry_run`: change
        nothing.
    Raises: OptionError: a text is not a regular expression. Source: data section 10.1, Java `ClearConsumersProcedure`.
    """
    included, kept = _pattern(table, including), None if excluding is None else _pattern(table, excluding)
    chosen = tuple(
        name for name in table.consumers.names() if included.fullmatch(name) and not (kept and kept.fullmatch(name))
    )
    if not dry_run:
        table.consumers.remove(chosen)
    return chosen


def _pattern(table: Table, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise OptionError(f"'{text}': {error}", table.identifier, "Use a regular expression, such as job-.*") from error
