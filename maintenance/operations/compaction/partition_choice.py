"""Partitions that a user names or describes, and what to say where the table has none of them.

A name that fits no partition is a mistake: an error. A condition that fits none may be right, for example one over the
last days: a finding in the report.
"""

import difflib
from collections.abc import Mapping, Sequence
from datetime import date

from maintenance.errors import NotFoundError, PredicateError
from maintenance.metadata.expired import reads_again
from maintenance.metadata.paths import matches_spec, partition_text_of
from maintenance.options import table as table_options
from maintenance.predicate.tree import Predicate, columns_of
from maintenance.scan.pruning import Pruning
from maintenance.table.table import Table

_SHOWN = 5
_EPOCH = date(1970, 1, 1)
Spec = Mapping[str, str]


def check_partitions(table: Table, specs: Sequence[Spec]) -> None:
    """Args: `specs`: partition columns to texts, some of the columns suffice. Raises: NotFoundError: one fits nothing.

    It names the nearest partitions that there are.
    """
    missing = missing_partitions(table, specs)
    if missing:
        raise not_found(table, missing)


def missing_partitions(table: Table, specs: Sequence[Spec]) -> list[Spec]:
    """Those of the specs that no partition of the newest snapshot fits."""
    specs_of_table = _existing_specs(table)
    return [spec for spec in specs if not any(matches_spec(existing, [spec]) for existing in specs_of_table)]


def not_found(table: Table, missing: Sequence[Spec]) -> NotFoundError:
    """The error of specs that fit no partition. `missing`: one or more."""
    names = [partition_text_of(spec) for spec in missing]
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    problem = f"partition {shown} does not exist" if len(names) == 1 else f"partitions {shown} do not exist"
    return NotFoundError(
        problem, f"table {table.identifier}", f"{_nearest(table, missing)}{_there_are(_existing_specs(table))}"
    )


def no_match(table: Table, where: str) -> str | None:
    """What to say if a filter leaves no partition of the newest snapshot over; None if it leaves some.

    Args: `where`: may name other columns too, which are left out. Raises: PredicateError.
    """
    pruning = Pruning(table.schema, {}, table.predicate(where))
    snapshot = table.latest_snapshot()
    if not pruning.prunes_partitions or snapshot is None:
        return None
    if any(pruning.keeps_partition(partition) for partition in _partitions(table)):
        return None
    return f"no partition matches {where}. {_there_are(_existing_specs(table))}"


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


@reads_again
def _partitions(table: Table) -> list[bytes]:
    snapshot = table.latest_snapshot()
    entries = [] if snapshot is None else table.manifests.live_entries(snapshot)
    return list(dict.fromkeys(entry.partition for entry in entries))


def _existing_specs(table: Table) -> list[dict[str, str]]:
    specs = [table.paths.spec_of(partition) for partition in _partitions(table)]
    return sorted(specs, key=lambda spec: tuple(spec.values()))


def _there_are(specs: Sequence[Spec]) -> str:
    names = [partition_text_of(spec) for spec in specs]
    if not names:
        return "The table has no partitions yet."
    if len(names) == 1:
        return f"The table has one partition: {names[0]}."
    if len(names) <= _SHOWN:
        return f"The table has {len(names)} partitions: {', '.join(names)}."
    return f"The table has {len(names)} partitions, from {names[0]} to {names[-1]}."


def _nearest(table: Table, missing: Sequence[Spec]) -> str:
    """The partition that was probably meant by the first spec."""
    specs_of_table, spec = _existing_specs(table), missing[0]
    numbered = _with_day_numbers(table, spec)
    if numbered != spec and any(matches_spec(existing, [numbered]) for existing in specs_of_table):
        key = table_options.PARTITION_LEGACY_NAME.key
        return f"Use {partition_text_of(numbered)}: option '{key}' = true names dates by their day numbers. "
    names = {
        partition_text_of({name: existing[name] for name in spec if name in existing}): None
        for existing in specs_of_table
    }
    close = difflib.get_close_matches(partition_text_of(spec), list(names), n=1)
    return f"The nearest one is {close[0]}. " if close else ""


def _with_day_numbers(table: Table, spec: Spec) -> dict[str, str]:
    """The spec with ISO dates as the numbers by which folders show them."""
    types = {field.name: field.type for field in table.schema.partition_fields}
    legacy = table_options.PARTITION_LEGACY_NAME.of(table.options)
    numbered = dict(spec)
    for name, text in spec.items():
        if legacy and name in types and types[name].root == "DATE":
            try:
                numbered[name] = str((date.fromisoformat(text) - _EPOCH).days)
            except ValueError:
                continue
    return numbered
