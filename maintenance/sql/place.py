"""Places in the text of a script, and errors that name them."""

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from maintenance.errors import PaimonError, SqlError, class_of
from maintenance.spelling import suggestion


def place_of(text: str, offset: int) -> tuple[int, int]:
    """Line and column of a character, both from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def excerpt_of(text: str, offset: int, length: int = 1) -> str:
    """The line of a character, and carets under a word of that length."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : len(text) if end < 0 else end]
    pad = "".join("\t" if c == "\t" else " " for c in text[start:offset])
    return f"{line}\n{pad}{'^' * max(1, min(length, len(line) - (offset - start)))}"


def error_at(
    text: str, offset: int, length: int, problem: str, fix: str = "", kind: type[PaimonError] = SqlError
) -> SqlError:
    """An error at a word of the text. `kind`: a class of the engine that it is one of, too."""
    line, column = place_of(text, offset)
    arguments = (problem, f"line {line}, column {column}", fix, (line, column), excerpt_of(text, offset, length))
    return SqlError(*arguments) if kind is SqlError else sql_error(kind, *arguments)


def error_of(error: PaimonError, where: str = "") -> SqlError:
    """An error of the engine as one of the statement. It keeps its class."""
    if isinstance(error, SqlError):
        return error
    place = f"{where}, {error.where}" if where else error.where
    return sql_error(type(error), error.found, place, error.fix, None, None, class_of(error))


def sql_error(kind: type[PaimonError], *arguments: Any) -> SqlError:
    """An error of a statement that also is one of a class of the engine, so that callers can catch either."""
    if kind not in _SQL_CLASSES:
        _SQL_CLASSES[kind] = _sql_class(kind)
    return _SQL_CLASSES[kind](*arguments)


_SQL_CLASSES: dict[type[PaimonError], type[SqlError]] = {}


def _sql_class(kind: type[PaimonError]) -> type[SqlError]:
    def reduced(error: SqlError) -> tuple[Any, ...]:
        return sql_error, (kind, *error.args)

    def text(error: SqlError) -> str:
        return SqlError.__str__(error)

    return type(f"Sql{kind.__name__}", (SqlError, kind), {"__reduce__": reduced, "__str__": text})


def unforeseen(error: Exception) -> SqlError:
    """What a library raised while a statement ran."""
    first = (str(error).splitlines() or [""])[0]
    is_engines = type(error).__module__.lstrip("_").startswith(("duckdb", "sqlglot"))
    problem = "the statement cannot be run" if is_engines else f"{type(error).__name__}: {first}"
    return SqlError(problem, "statement", "Rewrite the statement, or report this.", None, None, class_of(error))


@contextmanager
def in_sql() -> Iterator[None]:
    """Whatever is raised inside is an error of a statement."""
    try:
        yield
    except SqlError:
        raise
    except PaimonError as error:
        raise error_of(error) from error
    except Exception as error:
        raise unforeseen(error) from error


def unknown(kind: str, name: str, existing: Iterable[str]) -> tuple[str, str]:
    """What is found and what to do about a name that nothing has."""
    names = sorted(existing)
    listed = f"There are: {', '.join(names[:20])}{', …' if len(names) > 20 else ''}." if names else "There is none."
    return f"{kind} '{name}' does not exist", f"{listed}{suggestion(name, names)}"


def unknown_column(name: str, columns: Collection[str]) -> tuple[str, str]:
    """The same about a column. `columns`: those that there are, in order."""
    return f"column '{name}' does not exist", f"The columns are: {', '.join(columns)}.{suggestion(name, columns)}"
