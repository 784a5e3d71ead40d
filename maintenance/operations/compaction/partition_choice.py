"""Partitions that a user names or describes, and what to say where the table has none of them.

A name that fits no partition is a mistake: an error. A condition that fits none may be right, for example one over the
last days: a finding in the report.
"""

import difflib
from collections.abc import Sequence

from maintenance.amounts import number_of
from maintenance.errors import NotFoundError, PredicateError
from maintenance.metadata.partition_names import missing
from maintenance.metadata.partition_value import PartitionValue
from maintenance.metadata.paths import partition_text_of
from maintenance.predicate.tree import Predicate, columns_of
from maintenance.scan.pruning import Pruning
from maintenance.table.partitions import live_partitions
from maintenance.table.table import Table

_SHOWN = 5


def check_partitions(table: Table, chosen: Sequence[PartitionValue]) -> None:
    """Raises: NotFoundError: one of the partitions is none of the newest snapshot. It names the nearest ones."""
    absent = missing_partitions(table, chosen)
    if absent:
        raise not_found(table, absent)


def missing_partitions(table: Table, chosen: Sequence[PartitionValue]) -> tuple[PartitionValue, ...]:
    """Those that no partition of the newest snapshot fits."""
    return missing(table.paths, chosen, live_partitions(table))


def not_found(table: Table, absent: Sequence[PartitionValue]) -> NotFoundError:
    """The error of partitions that are not there. `absent`: one or more."""
    names = [str(partition) for partition in absent]
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    problem = f"partition {shown} does not exist" if len(names) == 1 else f"partitions {shown} do not exist"
    return NotFoundError(
        problem, f"table {table.identifier}", f"{_nearest(table, absent)}{_there_are(_existing(table))}"
    )


def no_match(table: Table, where: str) -> str | None:
    """What to say if a filter leaves no partition of the newest snapshot over; None if it leaves some.

    Args: `where`: may name other columns too, which are left out. Raises: PredicateError.
    """
    pruning = Pruning(table.schema, {}, table.predicate(where))
    snapshot = table.latest_snapshot()
    if not pruning.prunes_partitions or snapshot is None:
        return None
    if any(pruning.keeps_partition(partition) for partition in live_partitions(table)):
        return None
    return f"no partition matches {where}. {_there_are(_existing(table))}"


def over_partitions(table: Table, where: str | None) -> Predicate | None:
    """A filter over partition columns. Raises: PredicateError: it names others, or cannot be read."""
    predicate = table.predicate(where)
    if predicate is not None and not columns_of(predicate) <= set(table.schema.partition_keys):
        raise PredicateError(
            f"'{where}' names columns that are not partition columns",
            f"table {table.identifier}",
            f"Partition columns are: {', '.join(table.schema.partition_keys) or 'none'}.",
        )
    return predicate


def _existing(table: Table) -> list[PartitionValue]:
    return sorted(map(table.paths.partition, live_partitions(table)), key=lambda partition: tuple(partition.values()))


def _there_are(partitions: Sequence[PartitionValue]) -> str:
    names = [str(partition) for partition in partitions]
    if not names:
        return "The table has no partitions yet."
    if len(names) == 1:
        return f"The table has one partition: {names[0]}."
    if len(names) <= _SHOWN:
        return f"The table has {number_of(len(names), 'partition')}: {', '.join(names)}."
    return f"The table has {number_of(len(names), 'partition')}, from {names[0]} to {names[-1]}."


def _nearest(table: Table, absent: Sequence[PartitionValue]) -> str:
    """The partition that was probably meant by the first one."""
    wanted = absent[0]
    names = {partition_text_of({name: existing[name] for name in wanted}): None for existing in _existing(table)}
    close = difflib.get_close_matches(str(wanted), list(names), n=1)
    return f"The nearest one is {close[0]}. " if close else ""
