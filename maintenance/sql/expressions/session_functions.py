"""What asks for the session or for types, and errors that a query raises itself."""

from collections.abc import Sequence

from sqlglot import exp

from maintenance.sql.expressions import refusals
from maintenance.sql.expressions.conversions import Wanted, converted
from maintenance.sql.expressions.declared import type_text
from maintenance.sql.expressions.entries import SPARK, Call, Entry, entry
from maintenance.sql.expressions.templates import filled
from maintenance.types.data_type import DataType


def _type_name(call: Call) -> exp.Expr:
    if not call.is_flink:
        name = spark_name(call.kinds[0])
        if "interval" in name:
            raise refusals.unsupported(call.typing.source, call.written, "TYPEOF of an interval")
        return exp.Literal.string(name)
    text = type_text(call.arguments[0])
    if text is None:
        what, fix = "TYPEOF of a computed value", "Give it a column, a literal or a cast."
        raise refusals.unsupported(call.typing.source, call.written, what, fix)
    # A cast is made as well, and may fail.
    return filled("CASE WHEN a IS NULL THEN t ELSE t END", {"a": call.nodes[0], "t": exp.Literal.string(text)})


def spark_name(kind: DataType) -> str:
    """The name of a type in Spark, in small letters."""
    match kind.root:
        case "VARCHAR":
            return "string"
        case "VARBINARY":
            return "binary"
        case "DECIMAL":
            return f"decimal({kind.precision},{kind.scale})"
        case "TIMESTAMP":
            return "timestamp_ntz"
        case "TIMESTAMP_LTZ":
            return "timestamp"
        case "NULL":
            return "void"
        case "ARRAY":
            assert kind.element is not None
            return f"array<{spark_name(kind.element)}>"
        case "MAP":
            assert kind.key is not None
            assert kind.value is not None
            return f"map<{spark_name(kind.key)},{spark_name(kind.value)}>"
        case "ROW":
            return f"struct<{','.join(f'{part.name}:{spark_name(part.type)}' for part in kind.fields)}>"
    return kind.root.lower()


_CASTS = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string", "binary")


def _cast(call: Call) -> exp.Expr:
    """A type as a function, which casts."""
    made = converted(call.arguments[0], Wanted(call.kind, call.is_flink))
    if made is None:
        raise refusals.no_such_types(call.typing.source, call.written, call.name, call.kinds)
    return made


ENTRIES: Sequence[Entry] = (
    *(entry(name, "ANY", name.upper(), _cast, SPARK) for name in _CASTS),
    entry("decimal", "ANY", "DECIMAL(10, 0)", _cast, SPARK),
    entry("typeof", "ANY", "STRING", _type_name),
    entry("raise_error", "STRING", "NULL", "error(a)", SPARK),
    entry("assert_true", "BOOLEAN", "NULL", "CASE WHEN a THEN NULL ELSE error('an assertion is not true') END", SPARK),
    entry("assert_true", "BOOLEAN, STRING", "NULL", "CASE WHEN a THEN NULL ELSE error(b) END", SPARK),
    entry("rand", "", "DOUBLE", "random()"),
    entry("random", "", "DOUBLE", "random()", SPARK),
)  # fmt: skip
