"""Functions of Paimon that queries here have not: why, and what to do instead."""

from collections.abc import Mapping

from sqlglot import exp

from maintenance.errors import UnsupportedError
from maintenance.sql.cursor import Source

_SEARCH = ("indexes of vectors and full text are kept by maintenance here, and not searched",
           "Run it in Flink or Spark, or with pypaimon.")  # fmt: skip
_BLOBS = ("references to blobs are not returned", "Select the blob itself.")
_REFUSED: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("vector_search", "full_text_search", "hybrid_search"), _SEARCH),
    **dict.fromkeys(
        (
            "blob_view",
            "path_to_descriptor",
            "descriptor_to_string",
            "descriptor_to_presigned_url",
            "try_descriptor_to_presigned_url",
        ),
        _BLOBS,
    ),
}


def refuse_functions(tree: exp.Expr, source: Source) -> None:
    """Raises: SqlError, of the class `UnsupportedError` too: a query names one of them."""
    for node in tree.find_all(exp.Anonymous, exp.VectorSearch):
        name = (node.name if isinstance(node, exp.Anonymous) else "vector_search").lower()
        if name in _REFUSED:
            reason, instead = _REFUSED[name]
            token = next(token for token in source.tokens(words=True) if token.text.lower() == name)
            problem = f"{name.upper()}: {reason}"
            raise source.error(token.start, len(token.text), problem, instead, kind=UnsupportedError)
