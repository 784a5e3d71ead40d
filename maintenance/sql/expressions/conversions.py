"""Casts: which values of a type become which of another one, and how each is said to DuckDB.

A line of the table is ``(from, to): template``, of types and the classes of `entries`. In a template ``a`` is the
value and TARGET the type in DuckDB; what TRY_CAST makes NULL is an error of it, by CAST or `error`. Source: Spark's
`Cast` with ANSI, Flink's `CastRule`s.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from sqlglot import exp

from maintenance.sql.duckdb.duck_types import duck_type
from maintenance.sql.expressions import kinds
from maintenance.sql.expressions.duck_aggregates import is_of_groups
from maintenance.sql.expressions.entries import CLASSES, Typed
from maintenance.sql.expressions.kinds import NULL, STRING
from maintenance.sql.expressions.nested_texts import cast_text
from maintenance.sql.expressions.stamps import from_moment, is_wide, micros_of, moment_text, to_moment
from maintenance.sql.expressions.templates import filled, renamed
from maintenance.types.data_type import DataType

_LONG_DIGITS = 19
_CAST = "CAST(a AS TARGET)"
_WRONG = "error(concat('Could not convert string ''', a, ''' to NAME'))"
_OF_FLOATING = "CASE WHEN isfinite(a) THEN %s END"
# DuckDB reads 1.25E10 as a DECIMAL(10, 2): it does not count the digits of what has an exponent.
_TO_DECIMAL = f"CASE WHEN abs(%s) >= 1eWHOLE THEN {_WRONG} ELSE CAST(%s AS TARGET) END"
_LARGEST = "3.4028235677973366e38"
JAVA_NUMBER = "[+-]?(NaN|Infinity|([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?[dDfF]?)"
_WITH_SIGN = "[+-]|[+-]?[0-9]*[.]?[0-9]*[ --/:-~]"
_LAST_BITS = "CAST(paimon_wrapped(%s, CAST('SIZE' AS HUGEINT)) AS TARGET)"
_SATURATED = "CAST(paimon_saturated(a, CAST('%s' AS BIGINT), CAST('%s' AS BIGINT)) AS TARGET)"
_SHARED: Mapping[tuple[str, str], str] = {
    ("INTEGER", "INTEGER"): _CAST,
    ("INTEGER", "FLOATING"): _CAST,
    ("INTEGER", "DECIMAL"): _CAST,
    ("FLOATING", "INTEGER"): "CAST(trunc(a) AS TARGET)",
    ("FLOAT", "DOUBLE"): _CAST,
    ("DOUBLE", "FLOAT"): f"CASE WHEN isfinite(a) AND abs(a) >= {_LARGEST} THEN CAST(sign(a) * CAST('inf' AS DOUBLE)"
    " AS FLOAT) ELSE CAST(a AS FLOAT) END",
    ("FLOAT", "DECIMAL"): _OF_FLOATING % (_TO_DECIMAL % ("a", "paimon_pointed(paimon_float_text(a))")),
    ("DOUBLE", "DECIMAL"): _OF_FLOATING % (_TO_DECIMAL % ("a", "paimon_pointed(paimon_double_text(a))")),
    ("DECIMAL", "INTEGER"): "CAST(trunc(a) AS TARGET)",
    ("DECIMAL", "FLOATING"): _CAST,
    ("DECIMAL", "DECIMAL"): _CAST,
    ("NUMBER", "BOOLEAN"): "a <> 0",
    ("BOOLEAN", "INTEGER"): _CAST,
    ("BOOLEAN", "FLOATING"): _CAST,
    ("BOOLEAN", "DECIMAL"): "CAST(CAST(a AS INTEGER) AS TARGET)",
    ("INTEGER", "STRING"): _CAST,
    ("FLOAT", "STRING"): "paimon_float_text(a)",
    ("DOUBLE", "STRING"): "paimon_double_text(a)",
    ("BOOLEAN", "STRING"): _CAST,
    ("DATE", "STRING"): _CAST,
    ("TIME", "STRING"): _CAST,
    ("BINARY", "STRING"): "decode(a)",
    ("STRING", "BINARY"): "encode(a)",
    ("STRING", "INTEGER"): f"CASE WHEN paimon_is_whole(a) THEN CAST(paimon_trimmed(a) AS TARGET) WHEN a IS NOT NULL"
    f" THEN {_WRONG} END",
    ("STRING", "DECIMAL"): "CASE WHEN paimon_is_decimal(a) THEN"
    f" CASE WHEN regexp_matches(a, '[eE]') AND abs(TRY_CAST(paimon_trimmed(a) AS DOUBLE)) >= 1eWHOLE THEN {_WRONG}"
    f" ELSE CAST(paimon_pointed(paimon_trimmed(a)) AS TARGET) END WHEN a IS NOT NULL THEN {_WRONG} END",
    ("STRING", "FLOATING"): f"CASE WHEN paimon_is_floating(a) THEN CAST(paimon_floating(a) AS TARGET)"
    f" WHEN a IS NOT NULL THEN {_WRONG} END",
    ("STRING", "BOOLEAN"): f"CASE WHEN paimon_is_true(a) THEN TRUE WHEN paimon_is_false(a) THEN FALSE"
    f" WHEN a IS NOT NULL THEN {_WRONG} END",
    ("STRING", "DATE"): f"CASE WHEN paimon_is_day(paimon_trimmed(a)) THEN paimon_day(paimon_trimmed(a))"
    f" WHEN a IS NOT NULL THEN {_WRONG} END",
    ("MONTHS", "MONTHS"): "a",
    ("MICROS", "MICROS"): "a",
}
_SPARK: Mapping[tuple[str, str], str] = {
    **_SHARED,
    ("FLOAT", "DECIMAL"): _OF_FLOATING % (_TO_DECIMAL % ("a", "paimon_pointed(paimon_double_text(CAST(a AS DOUBLE)))")),
    ("TIMESTAMP_LTZ", "INTEGER"): "CAST(paimon_whole_seconds(a) AS TARGET)",
    ("TIMESTAMP_LTZ", "FLOATING"): "CAST(paimon_seconds(a) AS TARGET)",
    ("TIMESTAMP_LTZ", "DECIMAL"): _TO_DECIMAL
    % ("paimon_seconds(a)", "(CAST(epoch_us(a) AS DECIMAL(25, 0)) * CAST('0.000001' AS DECIMAL(6, 6)))"),
}
_OF_FLINK: Mapping[tuple[str, str], str] = {
    ("CLOCK", "STRING"): "left(CAST(a AS VARCHAR), 8)",
    ("BOOLEAN", "STRING"): "CASE WHEN a THEN 'TRUE' WHEN NOT a THEN 'FALSE' END",
    # As in Java: the last bits of whole numbers stay, those of floats that are too large become the largest.
    ("INTEGER", "INTEGER"): f"COALESCE(TRY_CAST(a AS TARGET), {_LAST_BITS % 'CAST(a AS HUGEINT)'})",
    ("FLOATING", "BIGINT"): _SATURATED % ("-9223372036854775808", "9223372036854775807"),
    ("FLOATING", "INT"): _SATURATED % ("-2147483648", "2147483647"),
    ("FLOATING", "INTEGER"): _LAST_BITS % (_SATURATED.replace("TARGET", "HUGEINT") % ("-2147483648", "2147483647")),
    # What a decimal does not hold is NULL.
    ("INTEGER", "DECIMAL"): "TRY_CAST(a AS TARGET)",
    ("DECIMAL", "DECIMAL"): "TRY_CAST(a AS TARGET)",
    ("FLOATING", "DECIMAL"): "CASE WHEN NOT isfinite(a) THEN paimon_no_decimal(a) WHEN abs(a) < 1eWHOLE"
    " THEN TRY_CAST(paimon_pointed(paimon_double_text(CAST(a AS DOUBLE))) AS TARGET) END",
    ("STRING", "DATE"): f"COALESCE(paimon_date(a), CASE WHEN a IS NOT NULL THEN {_WRONG} END)",
    # In short texts Flink's own reader passes over one last sign that is none of a number.
    ("STRING", "DECIMAL"): f"CASE WHEN SHORT AND octet_length(encode(a)) <= 18 AND regexp_full_match(paimon_trimmed(a),"
    f" '{_WITH_SIGN}') THEN CAST(regexp_extract(paimon_trimmed(a), '^[+-]?') || '0' ||"
    f" regexp_extract(paimon_trimmed(a), '^[+-]?([0-9]*[.]?[0-9]*)', 1) AS TARGET)"
    f" ELSE {_SHARED['STRING', 'DECIMAL']} END",
    # Java has a sign of replacement for what is no UTF-8.
    ("BINARY", "STRING"): "paimon_signs(a)",
    ("STRING", "TIME"): f"COALESCE(paimon_clock(a), CASE WHEN a IS NOT NULL THEN {_WRONG} END)",
    ("STRING", "INTEGER"): f"CASE WHEN regexp_full_match(paimon_trimmed(a), '[+-]?[0-9]+([.][0-9]*)?')"
    f" THEN CAST(regexp_extract(a, '[+-]?[0-9]+') AS TARGET) WHEN a IS NOT NULL THEN {_WRONG} END",
    ("STRING", "BOOLEAN"): "CASE WHEN lower(a) IN ('t', 'true', 'y', 'yes', '1') THEN TRUE"
    f" WHEN lower(a) IN ('f', 'false', 'n', 'no', '0') THEN FALSE WHEN a IS NOT NULL THEN {_WRONG} END",
    ("STRING", "FLOATING"): f"CASE WHEN regexp_full_match(paimon_trimmed(a), '{JAVA_NUMBER}')"
    f" THEN CAST(paimon_floating(a) AS TARGET) WHEN a IS NOT NULL THEN {_WRONG} END",
    ("DECIMAL", "INTEGER"): f"COALESCE(TRY_CAST(trunc(a) AS TARGET), {_LAST_BITS % 'CAST(trunc(a) AS HUGEINT)'})",
}


_PLAIN_TEXT = "CAST(a AS VARCHAR)"


class Wanted(NamedTuple):
    """A cast that somebody writes, or that the dialect makes. `is_written`: the first, which takes more types."""

    target: DataType
    is_flink: bool
    is_try: bool = False
    is_written: bool = False


def converted(value: Typed, wanted: Wanted) -> exp.Expr | None:
    """The value in another type, as DuckDB is told it; None if there is no such cast."""
    of, to = value.kind, wanted.target
    if of == to or (of.root, to.root) == ("TIME", "TIME"):
        return value.node if not value.is_loose else cast_node(value.node, to)
    if of == NULL:
        return _nothing(value, to)
    if wanted.is_try:
        value.node.meta[KEPT] = True  # what is wrong with it is still an error
    if "VARIANT" in (of.root, to.root):
        made = at_path(value.node, "$", to, is_flink=wanted.is_flink) if of.root == "VARIANT" else _variant(value)
    elif to.is_timestamp:
        made = to_moment(value, to, is_flink=wanted.is_flink)
    elif to.is_string and (of.is_timestamp or of.root in ("DECIMAL", "DATE")):
        made = _text(value, is_flink=wanted.is_flink)
    elif of.is_timestamp and to.root in ("DATE", "TIME"):
        made = from_moment(value, to, is_flink=wanted.is_flink)
    elif not kinds.is_atomic(of) or not kinds.is_atomic(to):
        made = _nested(value, wanted)
    elif is_plain(value, to):
        made = cast_node(value.node, to)
    else:
        if is_wide(of):
            value = Typed(micros_of(value.node), of, value.written)
        template = _template(of, to, wanted.is_flink)
        made = None if template is None else filled(_in_type(template, to), {"a": value.node})
    if made is None or not wanted.is_try:
        return made
    return tried(made)


# By the class of a type or its name: the function that makes a variant of it, and what it takes.
_VARIANTS = {
    "INTEGER": ("bigint", "CAST(a AS BIGINT)"),
    "DECIMAL": ("decimal", "CAST(a AS VARCHAR)"),
    "STRING": ("varchar", "a"),
    "BINARY": ("blob", "a"),
    "TIMESTAMP": ("timestamp", "CAST(a AS TIMESTAMP)"),
    "TIMESTAMP_LTZ": ("timestamptz", "a"),
    **{name: (name.lower(), "a") for name in ("BOOLEAN", "FLOAT", "DOUBLE", "DATE")},
}


def _variant(value: Typed) -> exp.Expr | None:
    """A single value or an array of such as a variant; None if it is none, or finer than microseconds."""
    of = value.kind
    if of.root == "ARRAY" and of.element is not None and of.element != kinds.VARIANT:
        inner = _variant(Typed(exp.column("_e"), of.element, value.written))
        template = "paimon_variant_of_list(list_transform(a, lambda _e: b))"
        return None if inner is None else filled(template, {"a": value.node, "b": _unnamed(inner)})
    name = "INTEGER" if kinds.is_integer(of) else "STRING" if of == STRING else of.root
    found = _VARIANTS.get("BINARY" if of == kinds.BINARY else name)
    if found is None or is_wide(of):
        return None
    function, taken = found
    node = cast_node(value.node, of) if of.root in ("DECIMAL", "FLOAT", "DOUBLE") else value.node
    return filled(f"paimon_variant_of_{function}({taken})", {"a": node})


def _nothing(value: Typed, to: DataType) -> exp.Expr:
    """A NULL without a type as one of a type. An aggregate of nothing is one all the same, and errors are raised."""
    is_kept = any(is_of_groups(node) or raises(node) for node in value.node.walk())
    return cast_node(value.node if is_kept else exp.Null(), to)


def raises(node: exp.Expr) -> bool:
    """Whether it raises an error of the query's own."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == "error"


def _text(value: Typed, *, is_flink: bool) -> exp.Expr:
    """A time or a decimal as a text."""
    of = value.kind
    if of.root == "DATE":
        return filled(_PLAIN_TEXT if is_flink else "paimon_text(a)", {"a": value.node})
    if of.root == "DECIMAL":
        # Where all digits stand behind the point DuckDB leaves the zero in front of it out.
        template = (
            "regexp_replace(CAST(a AS VARCHAR), '^(-?)[.]', '\\10.')" if of.precision == of.scale else _PLAIN_TEXT
        )
        return filled(template, {"a": value.node})
    if is_wide(of) and not is_flink and value.written.find(exp.Column) is None:
        # What is written has microseconds in Spark, and more of them only beside a column that has.
        return moment_text(micros_of(value.node), kinds.LTZ, is_flink=False)
    return moment_text(value.node, of, is_flink=is_flink)


# Texts in quotes that DuckDB reads as these engines do, and folds.
_PLAIN_TEXTS: Mapping[str, re.Pattern[str]] = {
    "DATE": re.compile(r"\d{4}-\d{2}-\d{2}"),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), re.compile(r"-?\d+")),
    **dict.fromkeys(("DECIMAL", "DOUBLE", "FLOAT"), re.compile(r"-?\d+(\.\d+)?")),
}


def is_plain(value: Typed, to: DataType) -> bool:
    """Whether a value is a text in quotes that is one of the type in both engines."""
    is_text = isinstance(value.node, exp.Literal) and value.node.is_string and to.root in _PLAIN_TEXTS
    return is_text and _PLAIN_TEXTS[to.root].fullmatch(value.node.name) is not None


def _in_type(template: str, to: DataType) -> str:
    """A template with the type that it casts to. WHOLE: how many digits stand in front of the point; SIZE: how many
    values an integer type has; SHORT: whether 64 bits hold a decimal.
    """
    whole, size = (to.precision or 0) - (to.scale or 0), 1 << kinds.BITS.get(to.root, 0)
    made = template.replace("TARGET", duck(to)).replace("NAME", to.root)
    made = made.replace("SHORT", str((to.precision or 0) < _LONG_DIGITS).upper())
    return made.replace("WHOLE", str(whole)).replace("SIZE", str(size))


# Flink's own go before those that both have.
_LISTED = {False: tuple(_SPARK.items()), True: (*_OF_FLINK.items(), *_SHARED.items())}


@cache
def _template(of: DataType, to: DataType, is_flink: bool) -> str | None:
    for (source, target), template in _LISTED[is_flink]:
        if _is(source, of) and _is(target, to):
            return template
    return None


def _is(text: str, kind: DataType) -> bool:
    if kind.root == text:
        return True
    return CLASSES[text](kind) if text in CLASSES else text in _OTHER and kind == _OTHER[text]


_OTHER = {"STRING": STRING, "BINARY": kinds.BINARY, "MONTHS": kinds.MONTHS, "MICROS": kinds.MICROS}


def at_path(variant: exp.Expr, path: str, to: DataType, *, is_flink: bool = False) -> exp.Expr | None:
    """What is at a path of a VARIANT, in a type; None if it cannot be had. Numbers that become integers are cut off."""
    parts = {"a": variant, "p": exp.Literal.string(path)}
    if to.root == "VARIANT":
        return filled("paimon_variant_at(a, p)", parts)
    if not kinds.is_atomic(to):
        return _parts_of_variant(filled("paimon_variant_at(a, p)", parts), to)
    text = filled("paimon_variant_text(a, p)", parts)
    if to.is_string:
        return text
    # Holds every integer, and fractions to cut off.
    template = "CAST(trunc(CAST(t AS DECIMAL(38, 10))) AS TARGET)" if kinds.is_integer(to) else "CAST(t AS TARGET)"
    if not is_flink:
        template = _of_marked(template, to)
    parts["t"] = text
    return filled(template.replace("TARGET", duck(to)), parts)


def _of_marked(template: str, to: DataType) -> str:
    """A cast that looks at what a VARIANT holds where its text is none of the type."""
    mark = "paimon_mark(paimon_variant_at(a, p))"
    if kinds.is_number(to):
        other = f"{mark} IN (4, 8) THEN CAST(CAST(CAST(t AS BOOLEAN) AS INTEGER) AS TARGET)"
    elif to.root == "BOOLEAN":
        other = f"paimon_marks_number({mark}) THEN CAST(t AS DOUBLE) <> 0"
    elif to.root == "TIMESTAMP_LTZ":
        micros = "CAST(trunc(CAST(t AS DECIMAL(22, 8)) * 1000000) AS BIGINT)"
        other = f"paimon_marks_number({mark}) THEN make_timestamptz({micros})"
    elif to.is_bytes:
        wrong = "error(concat('Could not convert string ''', t, ''' to BINARY'))"
        bytes_ = f"WHEN {mark} = 60 THEN from_base64(t) WHEN {mark} % 4 = 1 OR {mark} = 64 THEN encode(t)"
        return f"CASE {bytes_} WHEN t IS NOT NULL THEN {wrong} END"
    else:
        return template
    return f"COALESCE({template.replace('CAST(', 'TRY_CAST(')}, CASE WHEN {other} ELSE {template} END)"


def _parts_of_variant(variant: exp.Expr, to: DataType) -> exp.Expr | None:
    """An array or object of a VARIANT in a type; None if it cannot be had."""
    element = exp.column("_e")
    if to.root == "ARRAY" and to.element is not None:
        inner = at_path(element, "$", to.element)
        template = "list_transform(paimon_variant_elements(a), lambda _e: b)"
        return None if inner is None else filled(template, {"a": variant, "b": _unnamed(inner)})
    if to.root == "MAP" and to.key is not None and to.value is not None and to.key.is_string:
        inner = at_path(element, "$", to.value)
        template = "map(map_keys(a), list_transform(map_values(a), lambda _e: b))"
        fields = filled("paimon_variant_fields(a)", {"a": variant})
        return None if inner is None else filled(template, {"a": fields, "b": _unnamed(inner)})
    if to.root != "ROW":
        return None
    values: list[exp.Expr] = []
    for field in to.fields:
        made = at_path(filled("_e[p]", {"p": exp.Literal.string(field.name)}), "$", field.type)
        if made is None:
            return None
        values.append(exp.PropertyEQ(this=exp.to_identifier(field.name, quoted=True), expression=made))
    # A list of one, so that the fields are found once.
    template = "list_transform([paimon_variant_fields(a)], lambda _e: CASE WHEN _e IS NOT NULL THEN b END)[1]"
    return filled(template, {"a": variant, "b": _unnamed(exp.Struct(expressions=values))})


def _nested(value: Typed, wanted: Wanted) -> exp.Expr | None:
    """Values inside of values."""
    of, to = value.kind, wanted.target
    if to == STRING and wanted.is_written and not wanted.is_flink:
        return cast_text(value, lambda part: converted(part, wanted))
    if of.root == to.root == "ARRAY" and of.element is not None and to.element is not None:
        inner = converted(Typed(exp.column("_e"), of.element, value.written), wanted._replace(target=to.element))
        if inner is None:
            return None
        return filled("list_transform(a, lambda _e: b)", {"a": value.node, "b": _unnamed(inner)})
    if of.root == to.root == "MAP":
        assert of.key
        assert of.value
        assert to.key
        assert to.value
        sides = [
            converted(Typed(exp.column("_e"), own, value.written), wanted._replace(target=new))
            for own, new in ((of.key, to.key), (of.value, to.value))
        ]
        if sides[0] is None or sides[1] is None:
            return None
        template = "map(list_transform(map_keys(a), lambda _e: b), list_transform(map_values(a), lambda _e: c))"
        return filled(template, {"a": value.node, "b": _unnamed(sides[0]), "c": _unnamed(sides[1])})
    if of.root == to.root == "ROW" and len(of.fields) == len(to.fields):
        return _row(value, wanted)
    return None


def _unnamed(body: exp.Expr) -> exp.Expr:
    """The body of a lambda of a template, whose names begin otherwise by then."""
    for name in body.find_all(exp.Identifier):
        if name.name == "_e":
            name.set("this", "paimon_e")
    return body


def _row(value: Typed, wanted: Wanted) -> exp.Expr | None:
    parts: list[exp.Expr] = []
    for number, (old, new) in enumerate(zip(value.kind.fields, wanted.target.fields, strict=True), start=1):
        taken = filled("struct_extract_at(a, b)", {"a": value.node.copy(), "b": exp.Literal.number(number)})
        made = converted(Typed(taken, old.type, value.written), wanted._replace(target=new.type))
        if made is None:
            return None
        parts.append(exp.PropertyEQ(this=exp.to_identifier(new.name, quoted=True), expression=made))
    made = exp.Struct(expressions=parts)
    return filled("CASE WHEN a IS NOT NULL THEN b END", {"a": value.node, "b": made})


_ERROR = re.compile("error", re.IGNORECASE)
_PARTS_OF_VARIANTS = ("paimon_variant_elements", "paimon_variant_fields")
KEPT = "paimon_kept"
"""This key is in the `meta` of what has errors of its own inside of a TRY_ function."""


def _is_kept(node: exp.Expr | None) -> bool:
    while node is not None:
        if KEPT in node.meta:
            return True
        node = node.parent
    return False


def tried(tree: exp.Expr) -> exp.Expr:
    """What is NULL where a cast is an error."""

    def change(node: exp.Expr) -> exp.Expr | None:
        if _is_kept(node):
            return None
        if type(node) is exp.Cast:
            attempt = exp.TryCast(this=node.this, to=node.to)
            attempt.meta.update(node.meta)
            return attempt
        if isinstance(node, exp.Anonymous) and _ERROR.fullmatch(str(node.this)):
            return exp.Null()
        if isinstance(node, exp.Anonymous) and str(node.this) in _PARTS_OF_VARIANTS:
            tries = str(node.this).replace("variant_", "variant_try_")
            return exp.Anonymous(this=tries, expressions=node.expressions)
        if isinstance(node, exp.Anonymous) and str(node.this) in ("paimon_day", "decode"):
            return (
                exp.Anonymous(this="paimon_try_day", expressions=node.expressions)
                if node.this == "paimon_day"
                else None
            )
        return None

    return renamed(tree, change)


def duck(kind: DataType) -> str:
    """The type in DuckDB."""
    if kinds.is_interval(kind):
        return "INTERVAL"
    return duck_type(_known(kind))


def _known(kind: DataType) -> DataType:
    """The type with INT where a part has none."""
    if kind == NULL:
        return kinds.INT
    match kind.root:
        case "ARRAY" if kind.element is not None:
            return kinds.array(_known(kind.element))
        case "MAP" if kind.key is not None and kind.value is not None:
            return kinds.map_of(_known(kind.key), _known(kind.value))
        case "ROW":
            return kinds.row((part.name, _known(part.type)) for part in kind.fields)
    return kind


@cache
def _built(text: str) -> exp.DataType:
    return exp.DataType.build(text, dialect="duckdb")


def cast_node(node: exp.Expr, to: DataType) -> exp.Expr:
    """A cast of DuckDB, which it makes by its own rules."""
    return exp.Cast(this=node, to=_built(duck(to)).copy())
