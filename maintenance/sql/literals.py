"""Literals of the dialects that sqlglot reads otherwise: Flink's ``U&'…'``, and Spark's numbers with a letter."""

import re
from collections.abc import Sequence

from sqlglot.tokens import Token, TokenType

# By type: its name, and how far its numbers reach below zero.
_LETTERED = {
    TokenType.TINYINT: ("TINYINT", 1 << 7),
    TokenType.SMALLINT: ("SMALLINT", 1 << 15),
    TokenType.BIGINT: ("BIGINT", 1 << 63),
}
_OPERANDS = (TokenType.NUMBER, TokenType.STRING, TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN,
             TokenType.R_BRACKET)  # fmt: skip


class UnreadableError(ValueError):
    """A part of a statement means nothing. `token`: where; `problem`, `fix`: as of an error."""

    def __init__(self, token: Token, problem: str, fix: str) -> None:
        super().__init__(problem)
        self.token, self.problem, self.fix = token, problem, fix


def unicode_text(token: Token, escape: str = "\\") -> str:
    r"""What ``U&'…'`` stands for: ``\00e4`` and ``\+0000e4`` are characters by their numbers, ``\\`` is the sign.

    Raises: UnreadableError: something else follows the sign.
    """
    sign = re.escape(escape)

    def character(found: re.Match[str]) -> str:
        same, four, six, other = found.groups()
        if other is None:
            return str(same) if same else chr(int(four or six, 16))
        problem = f"'{escape}{other}' is not a character by its number"
        raise UnreadableError(
            token, problem, f"Write {escape}00e4 or {escape}+0000e4, and {escape}{escape} for the sign."
        )

    pattern = f"{sign}(?:({sign})|([0-9a-fA-F]{{4}})|\\+([0-9a-fA-F]{{6}})|(.?))"
    return re.sub(pattern, character, token.text, flags=re.DOTALL)


def with_signs(tokens: Sequence[Token], text: str) -> list[Token]:
    """The tokens of a text, where the smallest number of a type, ``-128Y``, is one: it has no positive counterpart.

    Raises: UnreadableError: a number is beyond its type.
    """
    found: list[Token] = []
    for number, token in enumerate(tokens):
        kind = _letter_of(tokens, number, text)
        if kind is None:
            found.append(token)
            continue
        name, reach = kind
        is_negative = bool(found) and found[-1].token_type == TokenType.DASH
        is_negative &= len(found) < 2 or found[-2].token_type not in _OPERANDS
        if int(token.text) > reach or (int(token.text) == reach and not is_negative):
            shown = text[token.start : token.end + 1]
            raise UnreadableError(token, f"{shown} is beyond {name}", f"Its numbers are {-reach} to {reach - 1}.")
        if int(token.text) == reach:
            sign = found.pop()
            token = Token(TokenType.NUMBER, f"-{reach}", token.line, token.col, sign.start, token.end)
        found.append(token)
    return found


def _letter_of(tokens: Sequence[Token], number: int, text: str) -> tuple[str, int] | None:
    """What the letter behind a number means, which the tokenizer has made a cast of; None: it has none of these."""
    following = tokens[number + 1 : number + 3]
    if tokens[number].token_type != TokenType.NUMBER or len(following) < 2:
        return None
    cast, kind = following
    if cast.token_type != TokenType.DCOLON or text[cast.start : cast.start + 2] == "::":
        return None
    return _LETTERED.get(kind.token_type) if tokens[number].text.isdecimal() else None
