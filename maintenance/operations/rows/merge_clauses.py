"""What MERGE INTO does with rows: its clauses, checked before anything is read.

In conditions and values the table is ``t`` and the source is ``s``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from maintenance.errors import DataError, PredicateError, UnsupportedError
from maintenance.predicate.sql_syntax import syntax_tree
from maintenance.spelling import meant
from maintenance.table.table import Table

TARGET, SOURCE = "t", "s"
When = Literal["matched", "not_matched", "not_matched_by_source"]
Action = Literal["update", "delete", "insert"]
_ACTIONS: Mapping[When, tuple[Action, ...]] = {
    "matched": ("update", "delete"),
    "not_matched": ("insert",),
    "not_matched_by_source": ("update", "delete"),
}


@dataclass(frozen=True, slots=True)
class Clause:
    """One WHEN clause. Of several that fit a row the first counts.

    Attributes:
        when: the rows of the table that a row of the source matches, the rows of the source that match none, or the
            rows of the table that none matches.
        values: column of the table to new value, an SQL text; None = each column from the source's of the same name.
            Columns that an insert leaves out are null, those that an update leaves out stay.
        condition: further condition, None = always.
    """

    when: When
    action: Action
    values: Mapping[str, str] | None = None
    condition: str | None = None


def checked(table: Table, on: str, clauses: Sequence[Clause], source: Sequence[str]) -> list[Clause]:
    """The clauses with their values by the table's column names. `source`: columns of the source.

    Raises: DataError: a clause makes no sense, or names no column; UnsupportedError: it updates the primary key.
    """
    where = f"table {table.identifier}"
    if not clauses:
        raise DataError("a merge without clauses", where, "Say what to do with rows that match, or do not.")
    for clause in clauses:
        if clause.action not in _ACTIONS.get(clause.when, ()):
            raise DataError(f"'{clause.action}' of rows that are {clause.when}", where, "Use another action for them.")
    return [_with_values(table, on, clause, source) for clause in clauses]


def _with_values(table: Table, on: str, clause: Clause, source: Sequence[str]) -> Clause:
    if clause.action == "delete":
        return clause
    where, keys = f"table {table.identifier}", table.schema.primary_keys
    value_texts = clause.values
    if value_texts is None:
        if clause.when == "not_matched_by_source":
            raise DataError("values of rows that no row of the source matches", where, "Name columns and new values.")
        value_texts = _of_source(table, source)
        if clause.action == "update" and keys:
            if not set(keys) <= {key for key, other in equal_columns(on) if key == other}:
                raise UnsupportedError(
                    "all columns are updated, including the primary key, and the condition does not keep the key",
                    where,
                    f"Match by {' AND '.join(f't.{key} = s.{key}' for key in keys)}, or name the columns.",
                )
            value_texts = {name: text for name, text in value_texts.items() if name not in keys}
    values: dict[str, str] = {}
    for name, text in value_texts.items():
        matches = meant(table.schema.field_names, name)
        if len(matches) != 1 or matches[0] in values:
            fix = f"Columns are {', '.join(table.schema.field_names)}; name each once."
            raise DataError(f"column '{name}' cannot be assigned", where, fix)
        values[matches[0]] = text
    wrong = [name for name in values if name in keys]
    if clause.action == "update" and wrong:
        problem = f"'{wrong[0]}' belongs to the primary key, which cannot be updated"
        raise UnsupportedError(problem, where, f"Leave '{wrong[0]}' out of what is assigned.")
    return Clause(clause.when, clause.action, values, clause.condition)


def _of_source(table: Table, source: Sequence[str]) -> dict[str, str]:
    found = {name: meant(source, name) for name in table.schema.field_names}
    missing = [name for name, matches in found.items() if len(matches) != 1]
    if missing:
        raise DataError(
            f"the source has {'several columns' if found[missing[0]] else 'no column'} '{missing[0]}'",
            f"table {table.identifier}",
            "Name the columns and their values, or add the column to the source.",
        )
    return {name: f"{SOURCE}.{quoted(matches[0])}" for name, matches in found.items()}


def quoted(name: str) -> str:
    """A column name in Spark's SQL."""
    return f"`{name.replace('`', '``')}`"


def equal_columns(on: str) -> list[tuple[str, str]]:
    """Pairs of columns of the table and the source that a condition says are equal, of its parts joined by AND."""
    return [pair for pair in map(_pair, _parts(on)) if pair is not None]


def only_equal_columns(on: str) -> list[tuple[str, str]]:
    """As `equal_columns`. Raises: PredicateError: the condition says more than that."""
    pairs = [_pair(part) for part in _parts(on)]
    equalities = [pair for pair in pairs if pair is not None]
    if len(equalities) < len(pairs):
        raise PredicateError(
            "the condition of a merge has more than equal columns",
            f"condition {on!r}",
            "Without a Spark session it is `t.a = s.b`, joined by AND.",
        )
    return equalities


def _parts(on: str) -> list[exp.Expr]:
    try:
        node = syntax_tree(on)
    except ValueError as error:
        raise PredicateError(
            f"the condition cannot be parsed: {error}", f"condition {on!r}", "Write the condition in Spark's SQL."
        ) from None
    while isinstance(node, exp.Paren):
        node = node.this
    return list(node.flatten()) if isinstance(node, exp.And) else [node]


def _pair(node: exp.Expr) -> tuple[str, str] | None:
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.EQ):
        return None
    sides = {side.table: side.name for side in (node.left, node.right) if isinstance(side, exp.Column)}
    return (sides[TARGET], sides[SOURCE]) if set(sides) == {TARGET, SOURCE} else None
