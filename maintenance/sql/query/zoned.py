"""Conditions that predicates judge, which take texts of instants for UTC: with the instants of the session's zone."""

from collections.abc import Sequence

from sqlglot import exp

from maintenance.sql.zones import in_utc
from maintenance.types.casts.zones import UTC
from maintenance.types.data_type import DataField

_COMPARED = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In, exp.Between,
)  # fmt: skip
_NO_TEXTS = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")
_INSTANTS = (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)
_MOMENTS = (*_INSTANTS, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMP, exp.DType.DATE)


def with_instants(condition: exp.Expr, fields: Sequence[DataField], zone: str, *, is_flink: bool) -> exp.Expr | None:
    """A condition in whose comparisons texts and literals of instants are in UTC, and say so.

    None: it compares instants with local times, which predicates cannot do in another zone than UTC, or, in Flink's
    dialect, texts with numbers or truth values, which only the types of both sides decide.
    """
    if is_flink and _compares_texts(condition, fields):
        return None
    if zone == UTC:
        return condition
    kinds = {field.name.lower(): field.type.root for field in fields}
    whole = condition.copy()
    root = exp.Paren(this=whole)
    for node in list(whole.find_all(*_COMPARED)):
        roots = {kinds.get(column.name.lower()) for column in node.find_all(exp.Column)}
        literals = list(_moments(node))
        if "TIMESTAMP_LTZ" not in roots:
            if any(_is_instant(literal, is_flink=is_flink) for literal in literals):
                return None
        elif roots != {"TIMESTAMP_LTZ"} or not _replace(literals, zone):
            return None
    inside: exp.Expr = root.this
    return inside


def _compares_texts(condition: exp.Expr, fields: Sequence[DataField]) -> bool:
    others = {field.name.lower() for field in fields if field.type.root in _NO_TEXTS}
    return any(
        any(column.name.lower() in others for column in node.find_all(exp.Column))
        and any(
            literal.is_string and not isinstance(literal.parent, exp.Cast) for literal in node.find_all(exp.Literal)
        )
        for node in condition.find_all(*_COMPARED)
    )


def has_moments(value: exp.Expr) -> bool:
    """Whether there is a literal of a time, or a text that may become one."""
    return any(True for _ in _moments(value))


def _moments(node: exp.Expr) -> list[exp.Expr]:
    """Literals with types of time, and texts on their own."""
    found: list[exp.Expr] = []
    for literal in node.find_all(exp.Literal):
        parent = literal.parent
        if isinstance(parent, exp.Cast):
            if parent.to.this in _MOMENTS:
                found.append(parent)
        elif literal.is_string:
            found.append(literal)
    return found


def _is_instant(node: exp.Expr, *, is_flink: bool) -> bool:
    if not isinstance(node, exp.Cast):
        return False
    return node.to.this in _INSTANTS or (node.to.this == exp.DType.TIMESTAMP and not is_flink)


def _replace(literals: Sequence[exp.Expr], zone: str) -> bool:
    """Put texts with their zone in the place of literals. Returns: whether all are times."""
    for literal in literals:
        text = literal.this.name if isinstance(literal, exp.Cast) else literal.name
        try:
            literal.replace(exp.Literal.string(in_utc(text, zone)))
        except (ValueError, OverflowError):
            return False
    return True
