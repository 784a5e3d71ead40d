"""What the parser reads of other databases, and neither Spark nor Flink has: it would be left out, or passed on."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from maintenance.sql.literals import UnreadableError

_OF_QUERIES = {
    "connect": "CONNECT BY", "for_": "FOR", "format": "FORMAT", "locks": "FOR UPDATE or FOR SHARE",
    "match": "MATCH_RECOGNIZE here", "options": "OPTION", "prewhere": "PREWHERE", "settings": "SETTINGS",
}  # fmt: skip
# Arguments of nodes, and the words that they are read from.
_FOREIGN: Mapping[type[exp.Expr], Mapping[str, str]] = {
    exp.Select: {**_OF_QUERIES, "into": "INTO behind SELECT", "kind": "AS STRUCT or AS VALUE behind SELECT",
                 "operation_modifiers": "these words behind SELECT", "sample": "USING SAMPLE"},
    exp.SetOperation: {**_OF_QUERIES, "by_name": "BY NAME", "on": "CORRESPONDING", "side": "joins of queries"},
    exp.Subquery: _OF_QUERIES,
    exp.Table: {"changes": "CHANGES", "hints": "hints of this kind", "indexed": "INDEXED", "only": "ONLY",
                "partition": "PARTITION behind a table", "rows_from": "ROWS FROM", "when": "AT or BEFORE"},
    exp.Group: {"totals": "WITH TOTALS"},
    exp.Join: {"directed": "DIRECTED joins", "global_": "GLOBAL joins", "match_condition": "MATCH_CONDITION",
               "nearest": "NEAREST"},
    exp.WindowSpec: {"exclude": "EXCLUDE in a window"},
    exp.Window: {"first": "KEEP"},
    exp.LimitOptions: {"percent": "PERCENT of rows", "with_ties": "WITH TIES"},
    exp.Limit: {"expressions": "LIMIT BY"},
    exp.Order: {"siblings": "ORDER SIBLINGS BY"},
    exp.Ordered: {"with_fill": "WITH FILL"},
    exp.CTE: {"key_expressions": "USING KEY", "materialized": "MATERIALIZED behind AS"},
    exp.With: {"cycle": "CYCLE", "search": "SEARCH"},
    exp.Star: {"ilike": "ILIKE behind *", "rename": "RENAME behind *", "replace": "REPLACE behind *"},
    exp.Parameter: {"this": "@"},
    exp.Cast: {"default": "DEFAULT in CAST", "format": "FORMAT in CAST"},
}  # fmt: skip


def check_foreign_syntax(tokens: Sequence[Token], tree: exp.Expr, engine: str) -> None:
    """Raises: UnreadableError: neither engine has it. `engine`: the one that is named."""
    for token, behind in pairwise(tokens):
        if token.token_type is TokenType.STAR and behind.text.upper() == "EXCLUDE":
            raise UnreadableError(behind, f"{engine} has no EXCLUDE behind *", "Write the columns.")
    for node in tree.walk():
        for kind, words in _FOREIGN.items():
            found = isinstance(node, kind) and next((said for name, said in words.items() if node.args.get(name)), None)
            if isinstance(node, exp.WindowSpec) and node.args.get("kind") == "GROUPS":
                found = "GROUPS in a window"
            elif isinstance(node, exp.Join) and node.method not in ("", "NATURAL"):
                found = f"{node.method} JOIN"
            if found:
                raise UnreadableError(first_of(tokens, found), f"{engine} has no {found}", "Leave it out.")


def first_of(tokens: Sequence[Token], words: str) -> Token:
    """The token at which words begin."""
    wanted = words.partition(" ")[0]
    return next((token for token in tokens if token.text.upper().startswith(wanted)), tokens[0])
