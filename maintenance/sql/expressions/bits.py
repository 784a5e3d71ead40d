"""Functions of the bits of integers and bytes.

Source: Spark's `bitwiseExpressions.scala`, `bitmapExpressions.scala`.
"""

from collections.abc import Callable, Sequence

from sqlglot import exp

from maintenance.sql.expressions.entries import SPARK, Call, Entry, entry
from maintenance.sql.expressions.templates import filled

_SIZES = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def _shifted(macro: str) -> Callable[[Call], exp.Expr]:
    """As in Java a shift by more bits than there are begins again at 0, and what leaves on the left is lost."""

    def says(call: Call) -> exp.Expr:
        size = exp.Literal.number(_SIZES[call.kind.root])
        return filled(f"CAST({macro}(a, b, n) AS {call.kind.root})", dict(zip("abn", [*call.nodes, size], strict=True)))

    return says


def _bit(call: Call) -> exp.Expr:
    size = _SIZES[call.kinds[0].root]
    wrong = f"error('a bit of {call.kinds[0].root} has a number from 0 to {size - 1}')"
    template = (
        f"CASE WHEN a IS NOT NULL AND (b < 0 OR b >= {size}) THEN {wrong} ELSE CAST(paimon_bit(a, b) AS TINYINT) END"
    )
    return filled(template, {"a": call.nodes[0], "b": call.nodes[1]})


_SHIFTS = {
    "<< shiftleft": "paimon_left",
    ">> shiftright": "paimon_right",
    ">>> shiftrightunsigned": "paimon_right_zeros",
}

ENTRIES: Sequence[Entry] = (
    *(
        entry(names, f"{kind}, INT", kind, _shifted(macro), SPARK)
        for names, macro in _SHIFTS.items()
        for kind in ("INT", "BIGINT")
    ),
    entry("bit_get getbit", "INTEGER, INT", "TINYINT", _bit, SPARK),
    entry("bitmap_bit_position", "BIGINT", "BIGINT",
          "CASE WHEN a > 0 THEN (a - 1) % 32768 ELSE -(a % 32768) END", SPARK),
    entry("bitmap_bucket_number", "BIGINT", "BIGINT",
          "CASE WHEN a > 0 THEN (a - 1) // 32768 + 1 ELSE a // 32768 END", SPARK),
    entry("bitmap_count", "BINARY=", "BIGINT",
          "CASE WHEN octet_length(a) = 0 THEN 0 ELSE CAST(bit_count(CAST(a AS BIT)) AS BIGINT) END", SPARK),
)  # fmt: skip
