"""How long texts and bytes are: DuckDB counts the characters of texts alone, and the bytes of bytes alone.

Of bytes Spark's `length`, `char_length` and `bit_length` count bytes, too. `octet_length` counts the bytes of either,
of texts in UTF-8. Source: the functions in the documents of Spark.
"""

from sqlglot import exp

from maintenance.sql.query.expression_types import ExpressionTypes

_OCTETS = "OCTET_LENGTH"
_GIVES_BYTES = (exp.HexString, exp.Unhex, exp.Encode, exp.FromBase64)
LENGTHS = (exp.Length, exp.BitLength, exp.Anonymous)


def shape_lengths(tree: exp.Expr, types: ExpressionTypes) -> None:
    """Write lengths as DuckDB has them."""
    found = [(node, made) for node in tree.find_all(*LENGTHS) if (made := _made(node, types)) is not None]
    for node, made in reversed(found):
        node.replace(exp.cast(made, "INT"))


def _made(node: exp.Expr, types: ExpressionTypes) -> exp.Expr | None:
    """None: DuckDB counts the same."""
    if isinstance(node, exp.Anonymous):
        if node.name.upper() != _OCTETS or len(node.expressions) != 1:
            return None
        value = node.expressions[0]
        return None if _is_bytes(value, types) else exp.func("STRLEN", value.copy())
    if not _is_bytes(node.this, types):
        return None
    octets = exp.Anonymous(this=_OCTETS, expressions=[node.this.copy()])
    return octets if isinstance(node, exp.Length) else exp.Mul(this=octets, expression=exp.Literal.number(8))


def _is_bytes(node: exp.Expr, types: ExpressionTypes) -> bool:
    kind = types.of(node)
    if kind is None:
        return isinstance(node.unnest(), _GIVES_BYTES)
    return kind.is_bytes or kind.root == "BLOB"
