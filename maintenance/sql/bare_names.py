"""Words that sqlglot takes for parts of clauses, and that are names where a value or table is due.

Spark reserves no word. Source: Spark's `SqlBaseParser.g4`, `nonReserved` and `strictNonReserved`.
"""

from collections.abc import Sequence

from sqlglot.tokens import Token, TokenType

_NAMES = frozenset(
    {
        "ANY", "BETWEEN", "CREATE", "CROSS", "ELSE", "ESCAPE", "FETCH", "FOR", "FULL", "GLOB", "ILIKE", "IN", "INNER",
        "INTO", "JOIN", "LIKE", "LIMIT", "NOTNULL", "OFFSET", "ON", "OUTER", "OVERLAPS", "QUALIFY", "RETURNING",
        "TABLESAMPLE", "THEN", "USING", "WHEN", "WINDOW",
    }
)  # fmt: skip
"""None of them begins an expression or a table, unless a bracket follows."""
_FLINKS_NAMES = frozenset({"GLOB", "NOTNULL", "RETURNING"})
# Behind them a value, a table or a name stands.
_BEFORE = frozenset(
    {
        "SELECT", "DISTINCT", "GROUP BY", "ORDER BY", "PARTITION BY", "FROM", "JOIN", "WHERE", "HAVING", "BY", "ON",
        "AND", "OR", "ELSE", "THEN", "WHEN", "WITH", ",", "(", ".", "=", "<", ">", "<=", ">=", "<>", "!=", "+", "-",
        "/", "%", "||", "[",
    }
)  # fmt: skip


def with_names(tokens: Sequence[Token], *, is_flink: bool) -> list[Token]:
    """The tokens, in which such words are names."""
    known, made, before = _FLINKS_NAMES if is_flink else _NAMES, list[Token](), ""
    for number, token in enumerate(tokens):
        word = "" if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else token.text.upper()
        behind = tokens[number + 1].text if number + 1 < len(tokens) else ""
        is_due = before in _BEFORE or behind.upper() in ("FROM", ",")
        if word in known and is_due and behind != "(":
            token = Token(
                TokenType.IDENTIFIER, token.text, token.line, token.col, token.start, token.end, token.comments
            )
            word = ""
        made.append(token)
        before = word
    return made
