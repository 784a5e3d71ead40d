"""Patterns of LIKE: `%` is any text, `_` one character (code point), the escape character makes the next one plain."""

from maintenance.predicate.tree import Compare, Contains, EndsWith, Like, Predicate, StartsWith, always

ANY_TEXT = object()
ANY_CHARACTER = object()


def parts_of(pattern: str, escape: str) -> list[object]:
    """The pattern as plain characters, `ANY_TEXT` and `ANY_CHARACTER`.

    Raises: ValueError: the escape character is not one character or stands before another than `%`, `_` and itself.
    """
    if len(escape) != 1:
        raise ValueError(f"the escape '{escape}' is not one character")
    parts: list[object] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            plain = next(characters, "")
            if not plain or plain not in ("%", "_", escape):
                raise ValueError(f"in '{pattern}' the escape '{escape}' must be followed by %, _ or itself")
            parts.append(plain)
        else:
            parts.append({"%": ANY_TEXT, "_": ANY_CHARACTER}.get(character, character))
    return parts


def like(column: str, pattern: str, escape: str) -> Predicate:
    """`column LIKE pattern`, as the simplest predicate that means it. Raises: ValueError as `parts_of`."""
    parts = parts_of(pattern, escape)
    text = "".join(part for part in parts if isinstance(part, str))
    wild = [part for part in parts if not isinstance(part, str)]
    if ANY_CHARACTER in wild:
        return Like(column, pattern, escape)
    if not wild:
        return Compare("=", column, text)
    starts, ends = parts[0] is ANY_TEXT, parts[-1] is ANY_TEXT
    if len(wild) == len(parts):
        return always(column)
    if len(wild) == 1 and ends:
        return StartsWith(column, text)
    if len(wild) == 1 and starts:
        return EndsWith(column, text)
    if len(wild) == 2 and starts and ends:
        return Contains(column, text)
    return Like(column, pattern, escape)


def prefix_of(pattern: str, escape: str) -> str:
    """The text every match starts with."""
    prefix = []
    for part in parts_of(pattern, escape):
        if not isinstance(part, str):
            break
        prefix.append(part)
    return "".join(prefix)


def regex_of(pattern: str, escape: str) -> str:
    """A regular expression (RE2) that finds exactly the texts that match as a whole."""
    translated = {ANY_TEXT: ".*", ANY_CHARACTER: "."}
    body = (
        f"\\x{{{ord(part):x}}}" if isinstance(part, str) else translated[part] for part in parts_of(pattern, escape)
    )
    return r"(?s)\A" + "".join(body) + r"\z"
