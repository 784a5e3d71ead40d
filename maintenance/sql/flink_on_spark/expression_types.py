"""Which of Paimon's types expressions have: of columns and what is made of them without arithmetic of numbers.

Names are looked up where they stand: in the tables, queries and WITHs of the FROM around them. An expression of which
nothing is known has no type; `decimal_types` says more about numbers. Source: the types of functions in the documents
of Flink and Spark.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import pyarrow as pa
from sqlglot import exp

from maintenance.errors import UnsupportedError
from maintenance.sql.dialects import DIGITS
from maintenance.sql.flink_on_spark.decimal_types import branches
from maintenance.sql.query.carried import is_carried
from maintenance.sql.query.resolve import Resolved
from maintenance.types.arrow import data_type_of_arrow
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType

Columns = Sequence[tuple[str, DataType | None]]
"""Names in lower case, with their types."""

STRING = DataType("VARCHAR", length=MAX_LENGTH)
_MICRO_DIGITS, _NANO_DIGITS = 6, 9
_PLAIN = {
    exp.DType.BOOLEAN: "BOOLEAN", exp.DType.TINYINT: "TINYINT", exp.DType.SMALLINT: "SMALLINT", exp.DType.INT: "INT",
    exp.DType.BIGINT: "BIGINT", exp.DType.FLOAT: "FLOAT", exp.DType.DOUBLE: "DOUBLE", exp.DType.DATE: "DATE",
    exp.DType.BINARY: "VARBINARY", exp.DType.VARBINARY: "VARBINARY",
}  # fmt: skip
# What has the type of its first argument.
_SAME = (
    exp.Paren, exp.Alias, exp.Distinct, exp.Min, exp.Max, exp.First, exp.Last, exp.FirstValue, exp.LastValue,
    exp.NthValue, exp.AnyValue, exp.Lag, exp.Lead, exp.Nullif, exp.ArgMax, exp.ArgMin, exp.Window, exp.Filter,
    exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup, exp.Ordered,
)  # fmt: skip
_TEXTS = (
    exp.Concat, exp.ConcatWs, exp.DPipe, exp.Upper, exp.Lower, exp.Substring, exp.Trim, exp.Replace, exp.TimeToStr,
    exp.UnixToStr, exp.Pad, exp.Initcap, exp.RegexpReplace, exp.RegexpExtract, exp.Left, exp.Right, exp.Hex, exp.MD5,
)  # fmt: skip
_DATES = (exp.CurrentDate, exp.TsOrDsAdd, exp.DateAdd, exp.DateSub, exp.LastDay, exp.AddMonths, exp.TsOrDsToDate)


@dataclass(slots=True)
class ExpressionTypes:
    """The types of a query's expressions, as long as its tree stays as it is."""

    resolved: Resolved
    is_flink: bool
    _known: dict[int, DataType | None] = field(default_factory=dict)
    _queries: dict[int, Columns] = field(default_factory=dict)

    def of(self, node: exp.Expr) -> DataType | None:
        """The type of an expression; None if nothing is known."""
        if id(node) not in self._known:
            self._known[id(node)] = None  # of what is asked for again inside itself
            self._known[id(node)] = self._of(node)
        return self._known[id(node)]

    def _of(self, node: exp.Expr) -> DataType | None:
        match node:
            case exp.Column():
                return self._of_column(node)
            case exp.Cast():
                return self.named(node.to)
            case exp.Literal():
                return STRING if node.is_string else None
            case exp.Dot() if isinstance(node.expression, exp.Identifier):
                return _part(self.of(node.this), node.expression.name)
            case exp.Bracket():
                inner = self.of(node.this)
                return None if inner is None else inner.value if inner.root == "MAP" else inner.element
            case exp.Subquery():
                outputs = self.outputs(node)
                return outputs[0][1] if len(outputs) == 1 else None
            case exp.Case() | exp.If() | exp.Coalesce() | exp.Greatest() | exp.Least():
                return common(self.of(branch) for branch in branches(node) if not isinstance(branch, exp.Null))
            case exp.Array() | exp.ArrayAgg():
                inside = common(map(self.of, node.expressions or [node.this]))
                return None if inside is None else DataType("ARRAY", element=inside)
        if isinstance(node, _SAME):
            return self.of(node.this)
        return self._of_time(node)

    def _of_time(self, node: exp.Expr) -> DataType | None:
        digits = 3 if self.is_flink else _MICRO_DIGITS
        instant = DataType("TIMESTAMP_LTZ", precision=digits)
        if isinstance(node, exp.Add | exp.Sub):
            return self._moved(node)
        if isinstance(node, _DATES):
            return DataType("DATE")
        if isinstance(node, _TEXTS):
            return STRING
        match node:
            case exp.CurrentTimestamp() | exp.UnixToTime():
                return instant
            case exp.Localtimestamp():
                return DataType("TIMESTAMP", precision=digits)
            case exp.StrToTime():
                return DataType("TIMESTAMP", precision=digits) if self.is_flink else instant
            case exp.TimestampTrunc():
                return instant
            case exp.Floor() | exp.Ceil() if node.args.get("to") is not None:
                return self.of(node.this)
            case exp.TimestampAdd():
                return self.of(node.this)
            case exp.Anonymous() if str(node.this).lower() == "now":
                return instant
        return None

    def _moved(self, node: exp.Add | exp.Sub) -> DataType | None:
        """The type of a time and an interval."""
        sides = [side for side in (node.this, node.expression) if not isinstance(side.unnest(), exp.Interval)]
        kind = self.of(sides[0]) if len(sides) == 1 else None
        return kind if kind is not None and (kind.is_timestamp or kind.root == "DATE") else None

    def named(self, to: exp.DataType) -> DataType | None:
        """The type that a cast names."""
        if to.this in exp.DataType.TEXT_TYPES:
            return STRING
        if to.this in _PLAIN:
            return DataType(_PLAIN[exp.DType(to.this)])
        instants = (exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPTZ)
        if to.this not in (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, *instants):
            return None
        is_instant = to.this in instants or (to.this == exp.DType.TIMESTAMP and not self.is_flink)
        written = to.meta.get(DIGITS)
        if to.expressions:
            digits = int(to.expressions[0].name)
        elif written is None:
            digits = _MICRO_DIGITS
        else:
            digits = written if self.is_flink else _NANO_DIGITS if written > _MICRO_DIGITS else _MICRO_DIGITS
        return DataType("TIMESTAMP_LTZ" if is_instant else "TIMESTAMP", precision=digits)

    # Names

    def _of_column(self, node: exp.Column) -> DataType | None:
        if isinstance(node.this, exp.Star):
            return None
        names = [part.name.lower() for part in node.parts]
        select = node.find_ancestor(exp.Select)
        while select is not None:
            sources = dict(self._sources(select))
            if len(names) > 1 and names[0] in sources:
                found = [kind for name, kind in sources[names[0]] if name == names[1]]
                return _inside(found[0], names[2:]) if found else None
            found = [kind for columns in sources.values() for name, kind in columns if name == names[0]]
            if found:
                return _inside(found[0], names[1:]) if all(kind == found[0] for kind in found) else None
            own = [output for output in select.expressions if output.alias.lower() == names[0]]
            if own and not _is_within(node, own[0]):
                return _inside(self.of(own[0]), names[1:])
            select = select.find_ancestor(exp.Select)
        return None

    def _sources(self, select: exp.Select) -> list[tuple[str, Columns]]:
        """What stands in the FROM, by the names that columns may have in front."""
        first = select.args.get("from_") or select.args.get("from")
        nodes = [] if first is None else [first.this]
        nodes += [join.this for join in select.args.get("joins") or ()]
        return [(node.alias_or_name.lower(), self._columns(node)) for node in nodes if isinstance(node, exp.Expr)]

    def _columns(self, node: exp.Expr) -> Columns:
        """The columns of a table or of a query in its place."""
        if isinstance(node, exp.Subquery | exp.Values):
            columns = self.outputs(node)
        elif isinstance(node, exp.Table):
            columns = self._of_table(node)
        else:
            return ()
        return _renamed(node, columns)

    def _of_table(self, node: exp.Table) -> Columns:
        relation = self.resolved.relations.get(node.name)
        if relation is not None:
            return [(column.name.lower(), column.type.as_nullable()) for column in relation.fields()]
        if node.name in self.resolved.bound:
            return [(part.name.lower(), type_of_arrow(part)) for part in self.resolved.bound[node.name].schema]
        around: exp.Expr | None = node
        while around is not None:
            with_ = around.args.get("with_") or around.args.get("with")
            for cte in [] if with_ is None else with_.expressions:
                if cte.alias.lower() == node.name.lower():
                    return _renamed(cte, self.outputs(cte.this))
            around = around.parent
        return ()

    def outputs(self, query: exp.Expr) -> Columns:
        """What a query gives."""
        if id(query) not in self._queries:
            self._queries[id(query)] = ()  # of a query that reads itself
            self._queries[id(query)] = self._outputs(query)
        return self._queries[id(query)]

    def _outputs(self, query: exp.Expr) -> Columns:
        match query:
            case exp.Subquery():
                return self._columns(query.this) if isinstance(query.this, exp.Table) else self.outputs(query.this)
            case exp.SetOperation():
                sides = zip(self.outputs(query.this), self.outputs(query.expression), strict=False)
                return [(left[0], common((left[1], right[1]))) for left, right in sides]
            case exp.Values():
                rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in query.expressions]
                return [
                    (f"col{n + 1}", common(map(self.of, column))) for n, column in enumerate(zip(*rows, strict=False))
                ]
            case exp.Select():
                return [column for output in query.expressions for column in self._of_output(query, output)]
        return ()

    def _of_output(self, select: exp.Select, output: exp.Expr) -> Columns:
        star = output.this if isinstance(output, exp.Column) else output
        if not isinstance(star, exp.Star):
            return [(output.alias_or_name.lower(), self.of(output))]
        wanted = output.table.lower() if isinstance(output, exp.Column) else ""
        left_out = {name.name.lower() for name in star.args.get("except_") or star.args.get("except") or ()}
        sources = [columns for name, columns in self._sources(select) if wanted in ("", name)]
        return [column for columns in sources for column in columns if column[0] not in left_out]


def type_of_arrow(part: pa.Field) -> DataType | None:
    """The type of rows that are bound, as DuckDB gets them."""
    if is_carried(part.type):
        return DataType("TIMESTAMP_LTZ" if part.type.field(0).type.tz else "TIMESTAMP", precision=_NANO_DIGITS)
    try:
        return data_type_of_arrow(part.type)
    except UnsupportedError:
        return None


def common(kinds: Iterable[DataType | None]) -> DataType | None:
    """The type that holds the values of all; None if nothing is known of one."""
    found = list(kinds)
    known = [kind.as_nullable() for kind in found if kind is not None]
    if not known or len(known) < len(found):
        return None
    if all(kind == known[0] for kind in known):
        return known[0]
    times = [kind for kind in known if kind.is_timestamp]
    if not times or any(not (kind.is_timestamp or kind.root == "DATE" or kind.is_string) for kind in known):
        return None
    root = "TIMESTAMP_LTZ" if any(kind.root == "TIMESTAMP_LTZ" for kind in times) else "TIMESTAMP"
    return DataType(root, precision=max(kind.precision or 0 for kind in times))


def _renamed(node: exp.Expr, columns: Columns) -> Columns:
    """The columns under the names that an alias gives them."""
    alias = node.args.get("alias")
    given = [column.name.lower() for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    pairs = zip_longest(given[: len(columns)], columns)
    return [(name or column[0], column[1]) for name, column in pairs]


def _part(kind: DataType | None, name: str) -> DataType | None:
    fields: Sequence[DataField] = () if kind is None else kind.fields
    return next((own.type.as_nullable() for own in fields if own.name.lower() == name.lower()), None)


def _inside(kind: DataType | None, names: Sequence[str]) -> DataType | None:
    for name in names:
        kind = _part(kind, name)
    return kind


def _is_within(node: exp.Expr, other: exp.Expr) -> bool:
    around: exp.Expr | None = node
    while around is not None and around is not other:
        around = around.parent
    return around is other
