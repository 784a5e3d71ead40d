"""What a query says of one table it reads: dynamic options in a hint, and the version to travel to."""

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.optimizer.simplify import simplify

from maintenance.errors import SqlError
from maintenance.sql.cursor import Cursor, Source
from maintenance.sql.dialects import OPTIONS

_FIX = "Write a number, a tag's name, or a time such as TIMESTAMP '2024-02-29 12:00:00'."


def options_of(node: exp.Table, source: Source) -> dict[str, str]:
    """The dynamic options of a table's node, which lose their place in the tree. Raises: SqlError."""
    options = hint_options(node.meta.get(OPTIONS), source)
    version = node.args.get("version")
    if version is not None:
        options |= _travel(version, source)
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


def _travel(version: exp.Expr, source: Source) -> dict[str, str]:
    kind, value = str(version.this), version.expression
    if kind == "VERSION":
        if isinstance(value, exp.Literal):
            return {"scan.version": value.name}
        raise _wrong(version, source, "a version is a number of a snapshot, or the name of a tag")
    if isinstance(value, exp.Column):  # the time of each row, as in a lookup join: the dimension table as it is now
        return {}
    value = _constant(value)
    literal = value.this if isinstance(value, exp.Cast) else value
    if not isinstance(literal, exp.Literal):
        raise _wrong(version, source, f"'{value.sql(source.dialect)}' is not a time")
    if not literal.is_string:  # Spark gives seconds
        return {"scan.timestamp-millis": str(int(float(literal.name) * 1000))}
    return {"scan.timestamp": literal.name}


def _constant(value: exp.Expr) -> exp.Expr:
    try:
        simpler: exp.Expr = simplify(value)
    except ParseError:
        return value
    return simpler


def _wrong(node: exp.Expr, source: Source, problem: str) -> SqlError:
    first = next((part for part in node.find_all(exp.Identifier) if "start" in part.meta), None)
    if first is None:
        return SqlError(problem, "time travel", _FIX)
    return source.error(first.meta["start"], len(first.name), problem, _FIX)
