"""What the parser reads of Spark's syntax, and Flink does not."""

from collections.abc import Iterator, Sequence

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from maintenance.sql.foreign_syntax import first_of
from maintenance.sql.literals import UnreadableError

_SIGNS = {
    "!": "Write NOT.", "!=": "Write <>.", "==": "Write =.", "::": "Write CAST.", "<=>": "Write IS NOT DISTINCT FROM.",
}  # fmt: skip


def check_flink_syntax(tokens: Sequence[Token], tree: exp.Expr) -> None:
    """Raises: UnreadableError: Flink refuses it."""
    for number, (token, behind) in enumerate(zip(tokens, [*tokens[1:], None], strict=True)):
        if token.token_type is TokenType.STAR and behind is not None and behind.token_type is TokenType.EXCEPT:
            raise UnreadableError(behind, "Flink has no EXCEPT behind *", "Write the columns.")
        if token.token_type is TokenType.EXCEPT and token.text.upper() == "MINUS":
            raise UnreadableError(token, "Flink has no MINUS", "Write EXCEPT.")
        if token.token_type is TokenType.COMMA and number > 1 and tokens[number - 2].token_type is TokenType.LIMIT:
            raise UnreadableError(token, "Flink has no LIMIT of two numbers", "Write OFFSET … behind it.")
        if token.text in _SIGNS and token.token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
            raise UnreadableError(token, f"Flink has no {token.text}", _SIGNS[token.text])
    for words, fix in _of_spark(tree):
        raise UnreadableError(first_of(tokens, words), f"Flink has no {words}", fix)


def _of_spark(tree: exp.Expr) -> Iterator[tuple[str, str]]:
    """The words of Spark's syntax in a tree, and what to write instead."""
    for node in tree.walk():
        match node:
            case exp.Lateral() if node.args.get("view"):
                yield "LATERAL VIEW", "Write CROSS JOIN UNNEST(…)."
            case exp.Join() if node.kind in ("SEMI", "ANTI"):
                yield f"{node.kind} JOIN", f"Write WHERE {'NOT ' if node.kind == 'ANTI' else ''}EXISTS (…)."
            case exp.Qualify():
                yield "QUALIFY", "Compute it in a subquery, and use WHERE around it."
            case exp.Sort() | exp.Cluster() | exp.Distribute():
                yield f"{node.key.upper()} BY", "Write ORDER BY."
            case exp.ILike():
                yield "ILIKE", "Write LOWER(…) LIKE."
            case exp.TableSample():
                yield "TABLESAMPLE of this kind", "Leave it out."
            case exp.Group() if node.args.get("all"):
                yield "GROUP BY ALL", "Write the columns."
            case exp.Ordered(this=exp.Var()):
                yield "ORDER BY ALL", "Write the columns."
            case exp.Select() if any(isinstance(each.unalias().unnest(), exp.Null) for each in node.expressions):
                yield "SELECT of a NULL without a type", "Write CAST(NULL AS INT), or another type."
