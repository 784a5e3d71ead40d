"""Where a name stands among the words of a statement."""

from collections.abc import Iterator, Mapping, Sequence

from sqlglot.tokens import Token, TokenType

_TEXTS = (TokenType.STRING, TokenType.RAW_STRING, TokenType.UNICODE_STRING)


def found_name(
    words: Sequence[Token], roles: Mapping[int, str], kind: str, name: str, *, last: bool = False
) -> Token | None:
    """As of `Cursor.find`."""
    found = [*_in_words(words, name, exactly=True)] or [*_in_words(words, name, exactly=False)]
    ranked = [(_rank(words, roles.get(words[number].start), kind, number), place) for number, place in found]
    best = min((rank for rank, _ in ranked), default=None)
    places = [place for rank, place in ranked if rank == best]
    if not places:
        return _in_hint(words, name)
    return places[-1 if last else 0]


def _rank(words: Sequence[Token], role: str | None, kind: str, number: int) -> int:
    """How much a word looks like a name of the kind; the least is the best."""
    if role is not None and kind and kind in role:
        return 0
    is_text = words[number].token_type in _TEXTS
    following = words[number + 1].text if number + 1 < len(words) else ""
    if (kind == "column" and following == ".") or (kind == "function" and following != "("):
        return 3
    if role is None and not is_text:
        return 1
    return 3 if role is not None and kind else 2


def _in_words(words: Sequence[Token], name: str, *, exactly: bool) -> Iterator[tuple[int, Token]]:
    """The words that are a name or its end, by the number of the last one, each with what is written in front of it."""
    wanted = _cased(name, exactly)
    for number, token in enumerate(words):
        text = _cased(token.text, exactly)
        # In another case it is the same name only as a whole.
        if not text or (wanted != text and not (exactly and wanted.endswith(f".{text}"))):
            continue
        first = number
        while token.token_type not in _TEXTS and first > 1 and words[first - 1].text == ".":
            if not wanted.endswith("".join(_cased(each.text, exactly) for each in words[first - 2 : number + 1])):
                break
            first -= 2
        yield number, Token(token.token_type, name, token.line, token.col, words[first].start, token.end)


def _cased(text: str, exactly: bool) -> str:
    return text if exactly else text.lower()


def _in_hint(words: Sequence[Token], name: str) -> Token | None:
    """The name in quotes inside of a hint, which is one word."""
    for token in words:
        for comment in token.comments if token.token_type is TokenType.HINT else ():
            place = comment.find(f"'{name}'")
            if place >= 0:
                start = token.start + len("/*+") + place
                return Token(TokenType.STRING, name, token.line, token.col, start, start + len(name) + 1)
    return None
