"""Arrays, maps and rows as texts: of a cast, and as JSON. Source: Spark's `ToStringBase`, `JacksonGenerator`."""

from collections.abc import Callable, Sequence

from sqlglot import exp

from maintenance.sql.expressions import kinds
from maintenance.sql.expressions.entries import Typed
from maintenance.sql.expressions.kinds import STRING
from maintenance.sql.expressions.templates import filled
from maintenance.types.data_type import DataType

Shown = Callable[[Typed], exp.Expr | None]
"""A part as a text, which is NULL where the part is; None if it cannot be one."""

_ARRAY = "'[' || paimon_joined(list_transform(a, lambda _e: COALESCE(b, 'null')), c) || ']'"
_MAP = "'{' || paimon_joined(list_transform(map_entries(a), lambda _e: k || s || COALESCE(v, n)), c) || '}'"


def cast_text(value: Typed, plain: Shown) -> exp.Expr | None:
    """A nested value as CAST shows it. `plain`: casts a value that is not nested."""

    def shown(part: Typed) -> exp.Expr | None:
        return plain(part) if kinds.is_atomic(part.kind) else cast_text(part, plain)

    comma = exp.Literal.string(", ")
    match value.kind.root:
        case "ARRAY":
            return _listed(value, shown, comma)
        case "MAP":
            return _mapped(value, shown, shown, (" ->", " "), comma)
        case "ROW":
            parts = [shown(part) for _, part in _parts(value)]
            known = [filled("COALESCE(a, 'null')", {"a": part}) for part in parts if part is not None]
            return _braced(value, known, comma) if len(known) == len(parts) else None
    return None


def json_text(value: Typed, plain: Shown) -> exp.Expr | None:
    """A nested value as JSON, in which fields of rows that are NULL are left out. `plain`: what is not nested."""

    def shown(part: Typed) -> exp.Expr | None:
        return plain(part) if kinds.is_atomic(part.kind) else json_text(part, plain)

    comma = exp.Literal.string(",")
    match value.kind.root:
        case "ARRAY":
            return _listed(value, shown, comma)
        case "MAP":
            assert value.kind.key
            return None if value.kind.key != STRING else _mapped(value, shown, plain, (":", ""), comma)
        case "ROW":
            pieces: list[exp.Expr] = []
            for name, part in _parts(value):
                text = shown(part)
                if text is None:
                    return None
                pieces.append(filled("CAST(to_json(n) AS VARCHAR) || ':' || t",
                                     {"n": exp.Literal.string(name), "t": text}))  # fmt: skip
            return _braced(value, pieces, comma)
    return None


def _listed(value: Typed, shown: Shown, comma: exp.Expr) -> exp.Expr | None:
    assert value.kind.element
    inner = shown(Typed(exp.column("paimon_e"), value.kind.element, value.written))
    return None if inner is None else filled(_ARRAY, {"a": value.node, "b": inner, "c": comma})


def _mapped(value: Typed, shown: Shown, of_key: Shown, signs: tuple[str, str], comma: exp.Expr) -> exp.Expr | None:
    """`signs`: what stands between a key and its value, and what in front of a value that is not NULL."""
    assert value.kind.key
    assert value.kind.value
    key, item = (
        show(Typed(filled(f"struct_extract(_e, '{name}')", {}), kind, value.written))
        for show, name, kind in ((of_key, "key", value.kind.key), (shown, "value", value.kind.value))
    )
    if key is None or item is None:
        return None
    between, front = signs
    parts = {"a": value.node, "k": key, "v": item, "c": comma, "s": exp.Literal.string(between + front)}
    return filled(_MAP, {**parts, "n": exp.Literal.string("null")})


def _parts(value: Typed) -> Sequence[tuple[str, Typed]]:
    parts: list[tuple[str, Typed]] = []
    for number, field in enumerate(value.kind.fields, start=1):
        taken = filled("struct_extract_at(a, n)", {"a": value.node.copy(), "n": exp.Literal.number(number)})
        parts.append((field.name, Typed(taken, field.type, value.written)))
    return parts


def _braced(value: Typed, pieces: Sequence[exp.Expr], comma: exp.Expr) -> exp.Expr:
    """Pieces between braces, without those that are NULL."""
    listed = exp.Anonymous(this="list_value", expressions=list(pieces))
    template = (
        "CASE WHEN a IS NOT NULL THEN '{' || paimon_joined(list_filter(l, lambda _t: _t IS NOT NULL), c) || '}' END"
    )
    return filled(template, {"a": value.node, "l": listed, "c": comma})


def json_plain(value: Typed, text: exp.Expr, kind: DataType) -> exp.Expr | None:
    """A value that is not nested, as JSON. `text`: that a cast makes of it; None: of a type that is not known here."""
    if kinds.is_integer(kind) or kind.root in ("BOOLEAN", "DECIMAL"):
        return text
    if kind.root in ("FLOAT", "DOUBLE"):
        quoted = filled("CAST(to_json(t) AS VARCHAR)", {"t": text})
        return filled(
            "CASE WHEN isfinite(a) THEN t ELSE q END", {"a": value.node.copy(), "t": text.copy(), "q": quoted}
        )
    if kind == STRING or kind.root == "DATE":
        return filled("CAST(to_json(t) AS VARCHAR)", {"t": text})
    return None
