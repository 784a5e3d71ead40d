"""What the table would lose under other retention: the form of its page, answered by the operation `what_if`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from maintenance.operations import what_if
from maintenance.operations.retention.what_if import Loss
from maintenance.project.config import TableConfig
from maintenance.table.table import Table

# Fields of the form, called as in tables.yaml, and the table's options that they stand for.
OPTIONS = {
    "keep_at_least": "snapshot.num-retained.min",
    "keep_at_most": "snapshot.num-retained.max",
    "time_retained": "snapshot.time-retained",
}
WITHOUT = ("without_tags", "without_consumers")


@dataclass(frozen=True, slots=True)
class Tried:
    """What would be deleted: as it is set now, and as the form says.

    Attributes:
        fields: what the form shows: what was asked, else what holds now.
        is_asked: whether the form was sent; `then` is empty where it was not.
        note: what the answer leaves out.
    """

    fields: Mapping[str, str]
    is_asked: bool
    now: Sequence[Loss]
    then: Sequence[Loss]
    note: str = ""


def tried(table: Table, config: TableConfig, query: Mapping[str, str], now: datetime) -> Tried:
    """The answer to the form. Raises: OptionError, NotFoundError: of what was typed."""
    policy = config.retention
    said = {
        name: str(value)
        for name, value in (
            ("keep_at_least", policy.keep_at_least),
            ("keep_at_most", policy.keep_at_most),
            ("time_retained", policy.time_retained),
        )
        if value is not None
    }
    asked = {name: query[name].strip() for name in (*OPTIONS, *WITHOUT) if query.get(name, "").strip()}
    holds = {name: said.get(name) or table.options.get(option, "") for name, option in OPTIONS.items()}
    as_is = {OPTIONS[name]: value for name, value in said.items()}
    note = "full_days is left out: ages are counted to the second here." if policy.full_days else ""
    if not asked:
        return Tried(holds, False, what_if(table, as_is, now=now).losses, (), note)
    options = {**as_is, **{OPTIONS[name]: value for name, value in asked.items() if name in OPTIONS}}
    gone = [[part.strip() for part in asked.get(name, "").split(",") if part.strip()] for name in WITHOUT]
    then = what_if(table, options, without_tags=gone[0], without_consumers=gone[1], now=now).losses
    return Tried({**holds, **asked}, True, what_if(table, as_is, now=now).losses, then, note)
