"""Places in the text of a script, and errors that name them."""

from collections.abc import Iterable

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


def error_at(text: str, offset: int, length: int, found: str, fix: str = "") -> SqlError:
    """An error at a word of the text."""
    line, column = place_of(text, offset)
    return SqlError(found, f"line {line}, column {column}", fix, (line, column), excerpt_of(text, offset, length))


def error_of(error: PaimonError, where: str = "") -> SqlError:
    """An error of the engine as one of the statement. It keeps its class."""
    if isinstance(error, SqlError):
        return error
    place = f"{where}, {error.where}" if where else error.where
    return SqlError(error.found, place, error.fix, None, None, class_of(error))


def unforeseen(error: Exception) -> SqlError:
    """What a library raised while a statement ran."""
    first = (str(error).splitlines() or [""])[0]
    found = f"{type(error).__name__}: {first}"
    return SqlError(
        found, "statement", "Write the statement in other words, or report it.", None, None, class_of(error)
    )


def unknown(kind: str, name: str, known: Iterable[str]) -> tuple[str, str]:
    """What is found and what to do about a name that nothing has."""
    names = sorted(known)
    listed = f"There are: {', '.join(names[:20])}{', …' if len(names) > 20 else ''}." if names else "There is none."
    return f"{kind} '{name}' does not exist", f"{listed}{suggestion(name, names)}"
