"""Where a statement says what an error complains of: one way from a name to the word of the text."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlglot.tokens import Token

from maintenance.errors import PaimonError, SqlError, class_of
from maintenance.sql.cursor import Cursor
from maintenance.sql.place import excerpt_of, in_sql, place_of, sql_error

# A name in quotes, and the word in front of it, which says what it is the name of.
_NAMED = re.compile(r"(?:(\w+) )?'((?:[^']|'(?=\w))+)'|\b(snapshot|schema|bucket) (\d+)\b")
_NO_PLACES = ("query", "statement", "session", "cast")
_TWICE = re.compile(r"\b(?:twice|exists)\b(?! not)")


@contextmanager
def in_statement(cursor: Callable[[], Cursor]) -> Iterator[None]:
    """Whatever is raised inside is an error of a statement, at the name that it complains of.

    Args: `cursor`: gives the words of the statement; it is called for an error without a place.
    """
    try:
        with in_sql():
            yield
    except SqlError as error:
        if error.line is not None:
            raise
        placed = _at_its_name(error, cursor())
        if placed is None:
            raise
        raise placed from error


def _at_its_name(error: SqlError, cursor: Cursor) -> SqlError | None:
    """The error at the first name in it that stands in the statement; None if none does."""
    is_again = _TWICE.search(error.found) is not None
    for kind, name, numbered, number in _NAMED.findall(error.found):
        token = cursor.find((kind or numbered).lower(), name or number, last=is_again)
        if token is not None:
            return _placed(error, cursor, token)
    return None


def _placed(error: SqlError, cursor: Cursor, token: Token) -> SqlError:
    text, start = cursor.source.text, token.start
    line, column = place_of(text, start)
    where = f"line {line}, column {column}"
    where = where if error.where in _NO_PLACES else f"{where}, {error.where}"
    kind: type[PaimonError] = next((base for base in type(error).__mro__[1:] if _is_engines(base)), SqlError)
    arguments = (error.found, where, error.fix, (line, column), excerpt_of(text, start, token.end - start + 1))
    return SqlError(*arguments, class_of(error)) if kind is SqlError else sql_error(kind, *arguments, class_of(error))


def _is_engines(kind: type) -> bool:
    """Whether a class of errors is one of the engine that a statement's error is, too."""
    return issubclass(kind, PaimonError) and not issubclass(kind, SqlError) and kind is not PaimonError
