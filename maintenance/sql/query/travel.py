"""What a query says of one table it reads: dynamic options in a hint, and the version to travel to."""

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp

from maintenance.errors import OptionError, SqlError
from maintenance.sql.cursor import Cursor, Source
from maintenance.sql.dialects import OPTIONS
from maintenance.sql.zones import instant_of_text
from maintenance.table.table import Table

_OF_SELECT = re.compile(r"\bSELECT\s+(/\*\+)", re.IGNORECASE)
_FIX = "Write a number, a tag's name, or a time such as TIMESTAMP '2024-02-29 12:00:00'."


def options_of(node: exp.Table, source: Source, evaluate: Callable[[exp.Expr], Any], zone: str) -> dict[str, str]:
    """The dynamic options of a table's node, which lose their place in the tree.

    Args: `evaluate`: gives the value of an expression without columns; `zone`: of times that name none.
    Raises: SqlError.
    """
    options = hint_options(node.meta.get(OPTIONS), source)
    version = node.args.get("version")
    if version is not None:
        options |= _travel(version, source, evaluate, zone)
        node.set("version", None)
    return options


def hint_options(text: str | None, source: Source) -> dict[str, str]:
    """The options of ``OPTIONS('k' = 'v', …)``. Other hints are left to the engine that has them."""
    if text is None:
        return {}
    inner = Source(text, source.dialect)
    cursor = Cursor(inner, inner.tokens(words=True), ())
    try:
        return cursor.options() if cursor.take("OPTIONS") else {}
    except SqlError as error:
        at = source.text.find(text)
        raise source.error(at + (error.column or 1) - 1, 1, error.found, error.fix) from None


def check_consumer(table: Table) -> None:
    """Refuse a consumer that would hold snapshots for ever. Source: Java `FlinkSourceBuilder`."""
    if table.model.consumer_id is not None and table.model.consumer_expiration_time is None:
        raise OptionError(
            "'consumer-id' without 'consumer.expiration-time': its snapshots would stay for ever",
            table.identifier,
            "Set 'consumer.expiration-time' of the table with ALTER TABLE.",
        )


def take_hints(tree: exp.Expr, source: Source, *, kept: bool) -> None:
    """Look at the hints behind SELECT: they are for the engine, and say nothing of what is read.

    Args: `kept`: the engine understands them; else they go.
    Raises: SqlError: one has the options of a table, which would be read without them.
    """
    for query in tree.find_all(exp.Select):
        hint = query.args.get("hint")
        if hint is None:
            continue
        if any(part.name.upper() == "OPTIONS" for part in hint.expressions):
            found = _OF_SELECT.search(source.text)
            at = 0 if found is None else found.start(1)
            problem = "options behind SELECT are of no table"
            raise source.error(at, 1, problem, "Write FROM name /*+ OPTIONS('key' = 'value') */.")
        if not kept:
            query.set("hint", None)


def _travel(version: exp.Expr, source: Source, evaluate: Callable[[exp.Expr], Any], zone: str) -> dict[str, str]:
    kind, value = str(version.this), version.expression
    if kind == "VERSION":
        if isinstance(value, exp.Literal):
            return {"scan.version": value.name}
        raise _wrong(version, source, "a version is a number of a snapshot, or the name of a tag")
    if (
        value.find(exp.Column) is not None
    ):  # the time of each row, as in a lookup join: the dimension table as it is now
        return {}
    if not isinstance(value, exp.Literal):
        value = _literal(evaluate(value), version, source)
    if not value.is_string:  # Spark gives seconds
        return {"scan.timestamp-millis": str(int(float(value.name) * 1000))}
    try:
        return {"scan.timestamp-millis": str(instant_of_text(value.name, zone) // 10**6)}
    except ValueError:  # the reader of this option says what it expects
        return {"scan.timestamp": value.name}


def _literal(time: Any, version: exp.Expr, source: Source) -> exp.Expr:
    """A time that was computed, in seconds since 1970 UTC or as text without a zone."""
    match time:
        case datetime() if time.tzinfo is not None:
            return exp.Literal.number(repr(time.timestamp()))
        case datetime():
            return exp.Literal.string(time.isoformat(" ", "milliseconds"))
        case date():
            return exp.Literal.string(f"{time.isoformat()} 00:00:00")
        case str():
            return exp.Literal.string(time)
        case int() | float() | Decimal() if not isinstance(time, bool):
            return exp.Literal.number(str(time))
    raise _wrong(version, source, f"{time!r} is not a time")


def _wrong(node: exp.Expr, source: Source, problem: str) -> SqlError:
    first = next((part for part in node.find_all(exp.Identifier) if "start" in part.meta), None)
    if first is None:
        return SqlError(problem, "time travel", _FIX)
    return source.error(first.meta["start"], len(first.name), problem, _FIX)
