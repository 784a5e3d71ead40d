"""Times in queries that DuckDB runs: their digits, their zones and their texts are those of the dialect's engine.

A cast cuts digits off, towards the past, where DuckDB rounds. Expressions of TIMESTAMP(7..9), which `carried` makes
structs of, compare and pass on all digits; what computes with them takes the microseconds. A time that becomes a text
shows no zone: in Flink it has as many digits as its type says, in Spark none that are zeros at the end.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from maintenance.sql.dialects import DIGITS
from maintenance.sql.query.carried import MICROS, REST
from maintenance.sql.query.expression_types import STRING, ExpressionTypes, branches
from maintenance.sql.query.templates import made
from maintenance.types.arrow import has_nanos
from maintenance.types.data_type import DataType

if TYPE_CHECKING:
    import duckdb

TYPE = "paimon_type"
"""Under this key an expression has its type, if that is a time, in `meta`."""
UNKNOWN = "paimon_unknown"
"""Under this key a cast to a text says that nothing is known of what it casts, in `meta`."""
PLAIN = "paimon_plain"
"""Under this key a comparison has what it was, in `meta`."""

_MILLI_DIGITS, _MICRO_DIGITS, _NANO_DIGITS = 3, 6, 9
_COMPARED = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In, exp.Between,
)  # fmt: skip
# DuckDB cannot tell whether a struct is between two others, which it makes of two comparisons as well.
_ORDERED: Mapping[type[exp.Expr], tuple[str, bool]] = {
    exp.LT: ("paimon_before", False), exp.GT: ("paimon_before", True),
    exp.LTE: ("paimon_until", False), exp.GTE: ("paimon_until", True),
}  # fmt: skip
_CHOSEN = (exp.Case, exp.If, exp.Coalesce, exp.Greatest, exp.Least, exp.Nullif)
# What takes values as they are, of any type.
_CARRYING = (
    exp.Min, exp.Max, exp.First, exp.Last, exp.FirstValue, exp.LastValue, exp.NthValue, exp.AnyValue, exp.Lag, exp.Lead,
    exp.Count, exp.ArrayAgg, exp.ArrayUniqueAgg, exp.Array, exp.Struct, exp.Map, exp.ArgMax, exp.ArgMin, exp.Exists,
    exp.ApproxDistinct, exp.And, exp.Or, exp.Not, exp.Bracket, exp.Cast, *_CHOSEN,
)  # fmt: skip
TEXTUAL = (
    exp.Concat, exp.ConcatWs, exp.DPipe, exp.Upper, exp.Lower, exp.Substring, exp.Trim, exp.Replace, exp.Like,
    exp.Length, exp.RegexpLike, exp.RegexpReplace, exp.RegexpExtract, exp.StrPosition, exp.Pad, exp.Left, exp.Right,
    exp.Initcap, exp.Reverse, exp.Split, exp.SplitPart, exp.StartsWith, exp.EndsWith, exp.MD5, exp.SHA, exp.SHA2,
    exp.Repeat,
)  # fmt: skip
"""What takes texts, and makes them of other values."""
_TIMES = ("TIMESTAMP", "TIMESTAMP_LTZ", "DATE")
# A text with digits behind microseconds.
_FINE = re.compile(r"(.*\.\d{6})(\d+)(.*)", re.DOTALL)
_NAMES = {"TIMESTAMP": exp.DType.TIMESTAMPNTZ, "TIMESTAMP_LTZ": exp.DType.TIMESTAMPLTZ}
_MACROS = (
    # The microseconds of a time that are behind some digits are taken away: `step` is the smallest that stays.
    "paimon_cut(x, step) AS x - to_microseconds(((epoch_us(x) % step) + step) % step)",
    f"paimon_wide(x, y) AS CASE WHEN x IS NOT NULL THEN {{'{MICROS}': x, '{REST}': CAST(y AS SMALLINT)}} END",
    f"paimon_same(x, y) AS x.{MICROS} = y.{MICROS}",
    f"paimon_before(x, y) AS x.{MICROS} < y.{MICROS} OR (paimon_same(x, y) AND x.{REST} < y.{REST})",
    f"paimon_until(x, y) AS x.{MICROS} < y.{MICROS} OR (paimon_same(x, y) AND x.{REST} <= y.{REST})",
    "paimon_found(x) AS rpad(regexp_extract(x, '[.][0-9]{6}([0-9]{1,3})', 1), 3, '0')",
    "paimon_rest(x) AS COALESCE(TRY_CAST(paimon_found(x) AS SMALLINT), 0)",
    "paimon_local(x) AS regexp_replace(CAST(x AS VARCHAR), '[+-][0-9:]+$', '')",
    # Of all types: the type of the argument is known when a query is bound.
    "paimon_is_instant(x) AS typeof(x) = 'TIMESTAMP WITH TIME ZONE'",
    "paimon_text(x) AS CASE WHEN paimon_is_instant(x) THEN paimon_local(x) ELSE CAST(x AS VARCHAR) END",
    "paimon_second(x) AS regexp_replace(CAST(x AS VARCHAR), '([.][0-9]+)?([+-][0-9:]+)?$', '')",
    "paimon_padded(x, digits) AS lpad(CAST(x AS VARCHAR), digits, '0')",
    "paimon_micros(x) AS ((epoch_us(x) % 1000000) + 1000000) % 1000000",
    "paimon_fraction(x, y) AS paimon_padded(paimon_micros(x), 6) || paimon_padded(y, 3)",
    "paimon_digits(x, y, digits) AS paimon_second(x) || '.' || left(paimon_fraction(x, y), digits)",
    "paimon_plain(x, y) AS paimon_second(x) || regexp_replace('.' || paimon_fraction(x, y), '[.]?0*$', '')",
)


def register_times(connection: "duckdb.DuckDBPyConnection") -> None:
    """Make what the shaped expressions call."""
    for macro in _MACROS:
        connection.execute(f"CREATE OR REPLACE MACRO {macro}")


def shape_times(tree: exp.Expr, types: ExpressionTypes) -> None:
    """Change the expressions of a query, whose tree is as `types` knows it."""
    nodes = [node for node in tree.walk() if isinstance(node, exp.Expr)]
    kinds = {id(node): types.of(node) for node in nodes if isinstance(node, exp.Condition | exp.Alias | exp.Subquery)}
    if not any(kind is not None and kind.is_timestamp for kind in kinds.values()) and not tree.find(exp.Cast):
        return
    outputs = {id(node): types.outputs(node) for node in nodes if isinstance(node, exp.SetOperation)}
    shape = _Shape(kinds, is_flink=types.is_flink)
    for node in nodes:
        kind = kinds.get(id(node))
        if kind is not None and kind.root in _TIMES:
            node.meta[TYPE] = kind
    # From the inside out, as what is replaced is copied with all that it contains.
    for node in reversed(nodes):
        if isinstance(node, exp.SetOperation):
            shape.unite(node, [kind for _, kind in outputs[id(node)]])
        else:
            shape.take(node)


@dataclass(slots=True)
class _Shape:
    """Attributes: `kinds`: the types of expressions, by their ids; `made`: keeps those that were made."""

    kinds: dict[int, DataType | None]
    is_flink: bool
    made: list[exp.Expr] = field(default_factory=list)

    def kind(self, node: exp.Expr) -> DataType | None:
        return self.kinds.get(id(node))

    def take(self, node: exp.Expr) -> None:
        """Change an expression, whose parts are done."""
        if isinstance(node, exp.Cast):
            self._cast(node)
        elif isinstance(node, _COMPARED):
            self._compare(node)
        elif isinstance(node, _CHOSEN):
            self._choose(node)
        elif isinstance(node, TEXTUAL):
            self._make_texts(node)
        elif isinstance(node, exp.Add | exp.Sub | exp.TimestampAdd) and is_wide(self.kind(node)):
            self._move(node)
        elif isinstance(node, exp.Func | exp.Binary) and not isinstance(node, _CARRYING):
            for part in parts_of(node):
                if is_wide(self.kind(part)):
                    self._put(part, _micros(part))
            kind = self.kind(node)
            if kind is not None and is_wide(kind):
                self.kinds[id(node)] = replace(kind, precision=_MICRO_DIGITS)

    def unite(self, node: exp.SetOperation, kinds: Sequence[DataType | None]) -> None:
        """Give the sides of a set operation the same types."""
        for side in (node.this.unnest(), node.expression.unnest()):
            if not isinstance(side, exp.Select) or len(side.expressions) != len(kinds):
                continue
            for output, kind in zip(side.expressions, kinds, strict=True):
                if kind is not None and is_wide(kind) and not is_wide(self.kind(output)):
                    plain = output.unalias()
                    self._put(plain, exp.alias_(self._wide(plain, kind), output.alias_or_name or "", quoted=True)
                              if plain is output else self._wide(plain, kind))  # fmt: skip

    def _put(self, node: exp.Expr, instead: exp.Expr, kind: DataType | None = None) -> None:
        self.made.append(instead)
        self.kinds[id(instead)] = kind if kind is not None else self.kind(node)
        if self.kinds[id(instead)] is not None:
            instead.meta[TYPE] = self.kinds[id(instead)]
        node.replace(instead)

    def _cast(self, node: exp.Cast) -> None:
        of, to = self.kind(node.this), self.kind(node)
        if to is not None and to.is_timestamp:
            self._put(node, self._moment(node, of, to))
        elif to is not None and to.is_string:
            if of is not None and of.is_timestamp:
                self._put(node, self._text(node.this, of))
            elif of is None:
                node.meta[UNKNOWN] = True
        elif is_wide(of):
            node.set("this", _micros(node.this))

    def _moment(self, node: exp.Cast, of: DataType | None, to: DataType) -> exp.Expr:
        """A cast to a timestamp."""
        value, rest, digits = node.this.copy(), _number(0), to.precision or 0
        if is_wide(of):
            rest, value = _rest(node.this), _micros(node.this)
        elif isinstance(value, exp.Literal):
            text = _FINE.fullmatch(value.name)
            if text is not None:
                value, rest = exp.Literal.string(text[1] + text[3]), _number(int(text[2][:3].ljust(3, "0")))
        elif is_wide(to) and of is not None and of.is_string:
            rest = _call("paimon_rest", value)
        micros: exp.Expr = type(node)(this=value, to=exp.DataType(this=_NAMES[to.root]))
        if of is not None and of.is_timestamp and of.root == to.root:
            micros = value
        coarse = of is not None and (of.root == "DATE" or (of.is_timestamp and (of.precision or 0) <= digits))
        if digits < _MICRO_DIGITS and not coarse:
            micros = _call("paimon_cut", micros, _number(10 ** (_MICRO_DIGITS - digits)))
        if is_wide(to):
            step = 10 ** (_NANO_DIGITS - digits)
            kept = rest if step == 1 else made("CAST(:rest - :rest % :step AS SMALLINT)", rest=rest, step=step)
            return _call("paimon_wide", micros, kept)
        if digits <= _MILLI_DIGITS and to.root == "TIMESTAMP" and DIGITS not in node.to.meta:
            return exp.Cast(this=micros, to=exp.DataType(this=exp.DType.TIMESTAMP_MS))
        return micros

    def _compare(self, node: exp.Expr) -> None:
        parts = parts_of(node)
        kinds = [self.kind(part) for part in parts]
        if not any(is_wide(kind) for kind in kinds):
            return
        before = node.copy()
        to = _widest(kinds)
        for part in parts:
            self._put(part, self._wide(part, to), to)
        whole: exp.Expr | None = None
        if isinstance(node, exp.Between):
            low, value, high = node.args["low"], node.this, node.args["high"]
            whole = exp.paren(exp.and_(_call("paimon_until", low, value), _call("paimon_until", value, high)))
        elif type(node) in _ORDERED:
            name, is_turned = _ORDERED[type(node)]
            sides = [node.expression, node.this] if is_turned else [node.this, node.expression]
            whole = _call(name, *sides)
        (whole or node).meta[PLAIN] = before
        if whole is not None:
            node.replace(whole)

    def _choose(self, node: exp.Expr) -> None:
        parts = branches(node) if not isinstance(node, exp.Nullif) else [node.this, node.expression]
        kinds = [self.kind(part) for part in parts]
        if any(is_wide(kind) for kind in kinds):
            to = _widest(kinds)
            for part in parts:
                self._put(part, self._wide(part, to), to)
            self.kinds[id(node)] = to

    def _make_texts(self, node: exp.Expr) -> None:
        parts = parts_of(node)
        some = any((kind := self.kind(part)) is not None and kind.is_string for part in parts)
        for part in parts:
            kind = self.kind(part)
            if kind is not None and kind.is_timestamp:
                self._put(part, self._text(part, kind), STRING)
            elif kind is None and some and isinstance(part, exp.Func | exp.Window | exp.Dot | exp.Bracket):
                self._put(part, _call("paimon_text", part))

    def _move(self, node: exp.Expr) -> None:
        """A time and an interval."""
        time = next(part for part in parts_of(node) if is_wide(self.kind(part)))
        rest, kind = _rest(time), self.kind(node)
        self._put(time, _micros(time))
        self._put(node, _call("paimon_wide", node, rest), kind)

    def _wide(self, node: exp.Expr, to: DataType) -> exp.Expr:
        """An expression as the struct of a type."""
        kind = self.kind(node)
        if isinstance(node, exp.Null) or (kind is not None and is_wide(kind) and kind.root == to.root):
            return node.copy()
        # `exp.cast` leaves out a cast to the type that an expression has.
        return self._moment(exp.Cast(this=node.copy(), to=exp.DataType(this=_NAMES[to.root])), kind, to)

    def _text(self, node: exp.Expr, kind: DataType) -> exp.Expr:
        micros, rest = (_micros(node), _rest(node)) if is_wide(kind) else (node.copy(), _number(0))
        if self.is_flink:
            if not kind.precision:
                return _call("paimon_second", micros)
            return _call("paimon_digits", micros, rest, _number(kind.precision))
        return _call("paimon_plain", micros, rest) if is_wide(kind) else _call("paimon_text", micros)


def is_wide(kind: DataType | None) -> bool:
    """Whether DuckDB has a struct for the values of a type."""
    return kind is not None and has_nanos(kind)


def _widest(kinds: Sequence[DataType | None]) -> DataType:
    """The timestamps that hold those of all types."""
    is_instant = any(kind is not None and kind.root == "TIMESTAMP_LTZ" for kind in kinds)
    return DataType("TIMESTAMP_LTZ" if is_instant else "TIMESTAMP", precision=_NANO_DIGITS)


def parts_of(node: exp.Expr) -> list[exp.Expr]:
    """The expressions right in one."""
    parts: list[exp.Expr] = []
    for name, value in node.args.items():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Condition | exp.Subquery) and name != "query":
                parts.append(part)
    return parts


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def _number(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _micros(node: exp.Expr) -> exp.Expr:
    return _call("struct_extract", node, exp.Literal.string(MICROS))


def _rest(node: exp.Expr) -> exp.Expr:
    return _call("struct_extract", node, exp.Literal.string(REST))
