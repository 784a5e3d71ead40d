"""What is said of expressions that are not known: what it is, where it stands, and what to do."""

from collections.abc import Sequence

from sqlglot import exp

from maintenance.errors import SqlError, UnsupportedError
from maintenance.sql.cursor import Source
from maintenance.sql.dialects import Flink
from maintenance.sql.expressions import kinds
from maintenance.sql.expressions.templates import filled
from maintenance.types.data_type import DataType

ON_SPARK, IN_FLINK = "Run it with `--engine spark`.", "Run the statement in Flink."


def elsewhere(source: Source) -> str:
    """Where such an expression has a value: Spark knows its own functions, and not Flink's."""
    return IN_FLINK if issubclass(source.dialect, Flink) else ON_SPARK


def span(node: exp.Expr | None) -> tuple[int, int] | None:
    """The first character of an expression in its statement, and how many follow it; None if it is not known."""
    for part in [] if node is None else node.walk():
        start, end = part.meta.get("start"), part.meta.get("end")
        if start is not None and end is not None:
            return start, end - start + 1
    return None


def error_at(
    source: Source, node: exp.Expr | None, problem: str, fix: str, *, is_unsupported: bool = False
) -> SqlError:
    """The error at an expression."""
    place = span(node)
    kind = UnsupportedError if is_unsupported else SqlError
    if place is None or place[0] + place[1] > len(source.text):
        from maintenance.sql.place import sql_error

        return SqlError(problem, "query", fix) if kind is SqlError else sql_error(kind, problem, "query", fix)
    return source.error(*place, problem, fix, kind=kind)


def no_such_types(
    source: Source, node: exp.Expr, name: str, given: Sequence[DataType], *, is_operator: bool = False
) -> SqlError:
    """A function or an operator that is known, and does not take what it is given."""
    name, types = name.partition(".")[0], [kinds.shown(kind) for kind in given]
    if name.replace("_", "").isalnum() and not is_operator:
        problem = f"{name.upper()} does not take ({', '.join(types)})"
    else:
        problem = f"'{name}' does not take {' and '.join(types)}"
    return error_at(source, node, problem, f"Cast the arguments. {elsewhere(source)}", is_unsupported=True)


def unknown_function(source: Source, node: exp.Expr, name: str, given: Sequence[DataType]) -> SqlError:
    name, types = name.partition(".")[0], ", ".join(kinds.shown(kind) for kind in given)
    return error_at(
        source,
        node,
        f"function {name.upper()} is not supported ({types})",
        f"Use another one. {elsewhere(source)}",
        is_unsupported=True,
    )


def unless_null(node: exp.Expr, what: str) -> exp.Expr:
    """A value that Flink takes for NOT NULL: where it is NULL, Flink goes on with -1 or an empty text."""
    return filled(f"CASE WHEN a IS NULL THEN error('{what} is not supported: run it in Flink') ELSE a END", {"a": node})


def unsupported(source: Source, node: exp.Expr, what: str, fix: str = "") -> SqlError:
    fix = f"{fix} {elsewhere(source)}".lstrip()
    return error_at(source, node, f"{what} is not supported", fix, is_unsupported=True)
