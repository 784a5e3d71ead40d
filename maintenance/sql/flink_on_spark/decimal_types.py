"""Which decimals and integers expressions are, by the rules of the dialect's engine.

Source: Spark's `DecimalPrecision` and `Average`, Flink's `LogicalTypeMerging`, whose quotients are the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp

from maintenance.types.data_type import DataType

MOST_DIGITS = 38
LEAST_SCALE = 6
_INTEGERS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10}
_OF_CASTS = {exp.DType.TINYINT: 3, exp.DType.SMALLINT: 5, exp.DType.INT: 10}
_SAME = (exp.Neg, exp.Abs, exp.Min, exp.Max, exp.Nullif, exp.First, exp.Last, exp.FirstValue, exp.LastValue)
_COMBINED = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.SafeDivide, exp.Mod)
_WRAPPED = (exp.Window, exp.Filter, exp.IgnoreNulls, exp.RespectNulls)


class Number(NamedTuple):
    """A type. `scale`: digits after the point; a whole number that is no decimal has none."""

    precision: int
    scale: int
    is_decimal: bool

    @property
    def cast(self) -> str:
        """The name of the type."""
        if self.is_decimal:
            return f"DECIMAL({self.precision}, {self.scale})"
        return next((name for name, digits in _INTEGERS.items() if self.precision <= digits), "BIGINT")


@dataclass(frozen=True, slots=True)
class Rules:
    """Attributes: `types`: of columns, by name; `made`: of columns of subqueries, None where nothing is known."""

    types: Mapping[str, DataType]
    is_flink: bool
    made: Mapping[str, Number | None]

    @classmethod
    def of_query(cls, tree: exp.Expr, types: Mapping[str, DataType], *, is_flink: bool) -> "Rules":
        """The rules for the expressions of a query."""
        made: dict[str, Number | None] = {}
        rules = cls(types, is_flink, made)
        # From the inside out, as a subquery may read another one.
        for select in reversed(list(tree.find_all(exp.Select))):
            for name, number in rules._outputs(select):
                same = made.get(name, rules._of_type(types.get(name)) if name in types else number)
                made[name] = number if same == number else None
        return rules

    def _outputs(self, select: exp.Select) -> list[tuple[str, Number | None]]:
        """What a query inside another one gives under which names."""
        around: exp.Expr | None = select.parent
        is_one_of_many = False
        while isinstance(around, exp.SetOperation | exp.Paren):
            is_one_of_many, around = True, around.parent
        if not isinstance(around, exp.Subquery | exp.CTE):
            return []
        alias = around.args.get("alias")
        given = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
        outputs = select.expressions
        names = given if len(given) == len(outputs) else [output.alias_or_name for output in outputs]
        return [
            (name, None if is_one_of_many else self.of(output.unalias()))
            for name, output in zip(names, outputs, strict=True)
            if name and name != "*"
        ]

    def of(self, node: exp.Expr) -> Number | None:
        """The type of an expression; None if it may be something else than a decimal or an integer."""
        node = node.unnest()
        match node:
            case exp.Column():
                inner = _behind(node)
                if inner is not None:
                    return self.of(inner)
                is_made = node.name in self.made and not _is_of_tables(node)
                return self.made[node.name] if is_made else self._of_type(self.types.get(node.name))
            case exp.Literal():
                return None if node.is_string else self._of_literal(str(node.this))
            case exp.Cast():
                return self._of_cast(node.to)
            case exp.Distinct():
                return self.of(node.expressions[0]) if len(node.expressions) == 1 else None
            case exp.Count():
                return self._of_bigint
            case exp.Case() | exp.If() | exp.Coalesce() | exp.Greatest() | exp.Least():
                return self._widest(branches(node))
        if isinstance(node, (*_SAME, *_WRAPPED)):
            return self.of(node.this)
        if isinstance(node, exp.Sum | exp.Avg):
            return self._of_total(node)
        if isinstance(node, exp.Round | exp.Ceil | exp.Floor):
            return self._rounded(node)
        if isinstance(node, _COMBINED):
            left, right = self.of(node.this), self.of(node.expression)
            return None if left is None or right is None else self._combined(node, left, right)
        return None

    def full_scale(self, node: exp.Expr) -> int | None:
        """How many digits after the point an exact result of a sum, difference or product has."""
        if not isinstance(node, exp.Add | exp.Sub | exp.Mul):
            return None
        left, right = self.of(node.this), self.of(node.expression)
        if left is None or right is None:
            return None
        return left.scale + right.scale if isinstance(node, exp.Mul) else max(left.scale, right.scale)

    @property
    def _of_bigint(self) -> Number:
        return Number(19 if self.is_flink else 20, 0, is_decimal=False)

    def _of_type(self, kind: DataType | None) -> Number | None:
        if kind is None:
            return None
        if kind.root == "DECIMAL":
            return Number(kind.precision or 10, kind.scale or 0, is_decimal=True)
        if kind.root == "BIGINT":
            return self._of_bigint
        return Number(_INTEGERS[kind.root], 0, is_decimal=False) if kind.root in _INTEGERS else None

    def _of_literal(self, text: str) -> Number | None:
        whole, point, fraction = text.partition(".")
        if not (whole + fraction).isdecimal():
            return None
        if not point and self.is_flink:
            return self._of_integer(whole)
        digits = len(whole.lstrip("0")) + len(fraction)
        return Number(max(1, digits, len(fraction)), len(fraction), is_decimal=bool(point))

    def _of_integer(self, text: str) -> Number:
        return Number(10, 0, is_decimal=False) if int(text) < 1 << 31 else self._of_bigint

    def _of_cast(self, to: exp.DataType) -> Number | None:
        if to.this == exp.DType.BIGINT:
            return self._of_bigint
        if to.this in _OF_CASTS:
            return Number(_OF_CASTS[to.this], 0, is_decimal=False)
        if to.this != exp.DType.DECIMAL:
            return None
        precision, scale = ([int(part.name) for part in to.expressions] + [0, 0])[:2]
        return Number(precision or 10, scale, is_decimal=True)

    def _of_total(self, node: exp.Sum | exp.Avg) -> Number | None:
        inner = self.of(node.this)
        if inner is None:
            return None
        if isinstance(node, exp.Avg):
            return self.average(inner)
        if not inner.is_decimal:
            return inner if self.is_flink else self._of_bigint
        return Number(MOST_DIGITS if self.is_flink else min(MOST_DIGITS, inner.precision + 10), inner.scale, True)

    def average(self, of: Number) -> Number | None:
        """The type of an average. Spark's of integers is a double."""
        if not of.is_decimal:
            return of if self.is_flink else None
        if self.is_flink:
            return Number(MOST_DIGITS, max(LEAST_SCALE, of.scale), is_decimal=True)
        return Number(min(MOST_DIGITS, of.precision + 4), min(MOST_DIGITS, of.scale + 4), is_decimal=True)

    def _rounded(self, node: exp.Round | exp.Ceil | exp.Floor) -> Number | None:
        of, places = self.of(node.this), node.args.get("decimals") or exp.Literal.number(0)
        if of is None or not of.is_decimal or not places.name.isdecimal() or not isinstance(places, exp.Literal):
            return None
        if self.is_flink and not isinstance(node, exp.Round):
            return Number(of.precision, 0, is_decimal=True)
        kept = min(int(places.name), of.scale)
        if self.is_flink and kept == of.scale:
            return of
        return Number(min(MOST_DIGITS, of.precision - of.scale + 1 + kept), kept, is_decimal=True)

    def _widest(self, nodes: Sequence[exp.Expr]) -> Number | None:
        """The type that holds the values of all. An integer counts as its type here, not by its digits."""
        found: list[Number | None] = []
        for node in nodes:
            plain = node.unnest()
            if isinstance(plain, exp.Literal) and not plain.is_string and plain.name.isdecimal():
                found.append(self._of_integer(plain.name))
            elif not isinstance(plain, exp.Null):
                found.append(self.of(plain))
        known = [each for each in found if each is not None]
        if not known or len(known) < len(found):
            return None
        scale = max(each.scale for each in known)
        whole = max(each.precision - each.scale for each in known)
        return Number(min(MOST_DIGITS, whole + scale), scale, any(each.is_decimal for each in known))

    def _combined(self, node: exp.Expr, left: Number, right: Number) -> Number | None:
        is_decimal = left.is_decimal or right.is_decimal
        if isinstance(node, exp.IntDiv) and not self.is_flink:
            return self._of_bigint
        if isinstance(node, exp.Div | exp.SafeDivide | exp.IntDiv):
            integer = self._widest([node.this, node.expression]) if self.is_flink else None
            return quotient(left, right) if is_decimal else integer
        if not is_decimal:
            return self._widest([node.this, node.expression])
        if isinstance(node, exp.Mod):
            scale = max(left.scale, right.scale)
            return Number(min(left.precision - left.scale, right.precision - right.scale) + scale, scale, is_decimal)
        if isinstance(node, exp.Mul):
            return _fitting(left.precision + right.precision + 1, left.scale + right.scale, is_decimal)
        scale = max(left.scale, right.scale)
        whole = max(left.precision - left.scale, right.precision - right.scale)
        return _fitting(whole + scale + 1, scale, is_decimal)


def _is_of_tables(column: exp.Column) -> bool:
    """Whether the query of a column reads tables, and no subquery."""
    select = column.find_ancestor(exp.Select)
    source = None if select is None else select.args.get("from_")
    if select is None or source is None:
        return False
    made = {cte.alias for cte in column.root().find_all(exp.CTE)}
    read = [source.this, *(join.this for join in select.args.get("joins") or ())]
    return all(isinstance(each, exp.Table) and each.name not in made for each in read)


def _behind(column: exp.Column) -> exp.Expr | None:
    """The expression that a column is, where its query reads one subquery and nothing else."""
    select = column.find_ancestor(exp.Select)
    if select is None or select.args.get("joins"):
        return None
    source = select.args.get("from_")
    read = None if source is None else source.this
    if not isinstance(read, exp.Subquery) or not isinstance(read.this, exp.Select):
        return None
    alias = read.args.get("alias")
    outputs = read.this.expressions
    given = [name.name for name in alias.columns] if isinstance(alias, exp.TableAlias) else []
    names = given if len(given) == len(outputs) else [output.alias_or_name for output in outputs]
    found = [output.unalias() for name, output in zip(names, outputs, strict=True) if name == column.name]
    return found[0] if len(found) == 1 and not isinstance(found[0], exp.Star) else None


def quotient(left: Number, right: Number) -> Number:
    """The type of a quotient of decimals."""
    scale = max(LEAST_SCALE, left.scale + right.precision + 1)
    return _fitting(left.precision - left.scale + right.scale + scale, scale, is_decimal=True)


def branches(node: exp.Expr) -> list[exp.Expr]:
    """The expressions that one of several results comes from."""
    if isinstance(node, exp.Case):
        default = node.args.get("default")
        return [*(each.args["true"] for each in node.args["ifs"]), *([] if default is None else [default])]
    if isinstance(node, exp.If):
        default = node.args.get("false")
        return [node.args["true"], *([] if default is None else [default])]
    return [node.this, *node.expressions]


def _fitting(precision: int, scale: int, is_decimal: bool) -> Number:
    """Digits after the point are given up before those in front of it, down to six."""
    if precision <= MOST_DIGITS:
        return Number(precision, scale, is_decimal)
    return Number(MOST_DIGITS, max(MOST_DIGITS - (precision - scale), min(scale, LEAST_SCALE)), is_decimal)
