"""Functions that stand only in front of OVER. Source: Spark's `windowExpressions.scala`."""

from collections.abc import Callable, Sequence

from sqlglot import exp

from maintenance.sql.expressions import refusals
from maintenance.sql.expressions.declared import filled_up
from maintenance.sql.expressions.entries import BOTH, FLINK, SPARK, Call, Entry, Gives, Says, entry
from maintenance.sql.expressions.kinds import is_atomic
from maintenance.sql.expressions.templates import filled
from maintenance.types.data_type import DataType


def window(names: str, takes: str, gives: Gives, says: Says, of: tuple = BOTH) -> Entry:  # type: ignore[type-arg]
    return entry(names, takes, gives, says, of, "window")


def _beside_kind(call: Call) -> DataType | None:
    """Flink takes no nested values there, no bytes and no instants."""
    kind = call.kinds[0]
    is_taken = is_atomic(kind) and not kind.is_bytes and kind.root != "TIMESTAMP_LTZ"
    return None if call.is_flink and not is_taken else kind


def _beside(call: Call) -> exp.Expr:
    """With a value where there is no such row, which becomes one of the first argument's type."""
    first, places, instead = call.arguments
    default = call.typing.in_type(instead, first.kind)
    if call.is_flink and first.char_length is not None:
        default = filled_up(default, first.char_length)
    made = exp.Anonymous(this=call.name, expressions=[first.node, places.node, default])
    if call.is_flink and instead.is_never_null and not first.is_never_null:
        return refusals.unless_null(made, f"{call.name.upper()} of a NULL with a value for other rows")
    return made


def _seen(call: Call) -> exp.Expr:
    """With nulls passed over."""
    call.name = call.name.partition(".")[0]
    if len(call.arguments) > 2:
        *others, last = _beside(call).expressions
    else:
        *others, last = call.nodes
    return exp.Anonymous(this=call.name, expressions=[*others, exp.IgnoreNulls(this=last)])


def _parts_of_rows(kind: str) -> Callable[[Call], exp.Expr]:
    """`ntile`."""

    def says(call: Call) -> exp.Expr:
        many = call.arguments[0]
        if many.whole is not None and many.whole < 1:
            problem = f"NTILE makes one part or more, and {many.whole} are asked for"
            raise refusals.error_at(call.typing.source, many.written, problem, "Write another number.")
        return filled(f"CAST(ntile(a) AS {kind})", {"a": many.node})

    return says


ENTRIES: Sequence[Entry] = (
    *(window(name, "", "INT", f"CAST({name}() AS INTEGER)", SPARK) for name in ("row_number", "rank", "dense_rank")),
    *(window(name, "", "BIGINT", f"CAST({name}() AS BIGINT)", FLINK) for name in ("row_number", "rank", "dense_rank")),
    window("percent_rank", "", "DOUBLE", "percent_rank()"),
    window("cume_dist", "", "DOUBLE", "cume_dist()"),
    window("ntile", "INT!", "INT", _parts_of_rows("INTEGER"), SPARK),
    window("ntile", "INT!", "BIGINT", _parts_of_rows("BIGINT"), FLINK),
    *(window(name, "T", _beside_kind, f"{name}(a)") for name in ("lag", "lead")),
    *(window(name, "T, INT!", _beside_kind, f"{name}(a, b)") for name in ("lag", "lead")),
    *(window(name, "T, INT!, U", _beside_kind, _beside) for name in ("lag", "lead")),
    window("nth_value", "T, INT!", "T", "nth_value(a, b)", SPARK),
    *(window(f"{name}.ignoring_nulls", "T, INT!?, U?", "T", _seen, SPARK) for name in ("lag", "lead", "nth_value")),
)  # fmt: skip
