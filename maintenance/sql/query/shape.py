"""Where the dialects mean something that sqlglot does not translate by itself."""

from collections.abc import Mapping, Set

from sqlglot import exp

from maintenance.sql.dialects import Flink, PaimonSpark
from maintenance.sql.query.decimal_types import Rules
from maintenance.sql.query.decimals import cast_decimals
from maintenance.sql.query.expression_types import ExpressionTypes
from maintenance.sql.query.flink_functions import shape_flink
from maintenance.sql.query.functions import shape_functions
from maintenance.sql.query.implicit_casts import CASTING, cast_implicitly
from maintenance.sql.query.integers import shape_integers
from maintenance.sql.query.intervals import shape_intervals
from maintenance.sql.query.lengths import LENGTHS, shape_lengths
from maintenance.sql.query.resolve import Resolved
from maintenance.sql.query.spark_functions import shape_spark
from maintenance.sql.query.stacks import spread_stacks
from maintenance.sql.query.times import TYPE, UNKNOWN, shape_times
from maintenance.sql.query.times_on_spark import shape_times_on_spark
from maintenance.sql.query.variants import shape_variants
from maintenance.types.data_type import DataType

_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)


def shaped(resolved: Resolved, *, embedded: bool) -> None:
    """Change the tree of a query to what it means in its dialect. `embedded`: DuckDB runs it."""
    types, tree = _column_types(resolved), resolved.tree
    is_flink = resolved.source.dialect is Flink
    # Each step looks at the whole tree, so one without what it is about is left out.
    kinds = {type(node) for node in tree.walk()}
    if _has(kinds, exp.HexString):
        _empty_bytes(tree)
    if _has(kinds, exp.Interval):
        shape_intervals(tree, resolved.source, embedded=embedded)
    if is_flink:
        _unknown(tree)
    if embedded and _has(kinds, exp.Stack):
        spread_stacks(tree)
    if embedded or is_flink:
        _name_outputs(tree, is_flink=is_flink)
        _shape_by_types(resolved, kinds, embedded=embedded)
    rules = Rules.of_query(tree, types, is_flink=is_flink)
    if is_flink:
        _maps(tree)
        shape_integers(tree, rules)
        shape_flink(tree, types, rules, embedded=embedded)
    if is_flink and not embedded:
        cast_decimals(tree, rules, embedded=False)
        _rows_of_spark(tree)
        _unnest_in_spark(tree, types)
    if is_flink and embedded:
        _unnest_rows(tree, types)
    if embedded and _has(kinds, *CASTING):
        cast_implicitly(resolved, rules)
    if embedded:
        _shape_for_duckdb(tree, types, kinds, rules)


def _shape_by_types(resolved: Resolved, kinds: Set[type[exp.Expr]], *, embedded: bool) -> None:
    is_flink = resolved.source.dialect is Flink
    if embedded and _has(kinds, *LENGTHS):
        shape_lengths(resolved.tree, ExpressionTypes(resolved, is_flink))
    shape = shape_times if embedded else shape_times_on_spark
    shape(resolved.tree, ExpressionTypes(resolved, is_flink))


def _unknown(tree: exp.Expr) -> None:
    """``UNKNOWN`` is the truth value that is neither TRUE nor FALSE, in Flink; a column of that name is in quotes."""
    for node in list(tree.find_all(exp.Column)):
        name = node.this
        if isinstance(name, exp.Identifier) and not (name.quoted or node.table) and name.name.upper() == "UNKNOWN":
            node.replace(exp.cast(exp.null(), "BOOLEAN"))


def _empty_bytes(tree: exp.Expr) -> None:
    """``X''``, which sqlglot takes for a number without digits."""
    for node in list(tree.find_all(exp.HexString)):
        if not node.name:
            node.replace(exp.cast(exp.Literal.string(""), "BINARY"))


def _shape_for_duckdb(tree: exp.Expr, types: Mapping[str, DataType], kinds: Set[type[exp.Expr]], rules: Rules) -> None:
    """The values and types of both dialects, where DuckDB's are others. `kinds`: of the nodes of the tree."""
    if not rules.is_flink and _has(kinds, exp.Func, exp.Div, exp.IntDiv):
        shape_spark(tree, types, rules)
    if _has(kinds, exp.Func):
        shape_functions(tree)
    if _has(kinds, exp.ParseJSON, exp.Anonymous, exp.JSONFormat, exp.Cast):
        shape_variants(tree, types)
    if _has(kinds, *_ARITHMETIC, exp.SafeDivide, exp.Sum, exp.Avg, exp.Round, exp.Ceil, exp.Floor):
        cast_decimals(tree, rules, embedded=True)
    _casts(tree, types)
    if _has(kinds, exp.TsOrDsAdd, exp.Add, exp.Sub):
        _dates(tree, types, is_flink=rules.is_flink)


def _has(kinds: Set[type[exp.Expr]], *wanted: type[exp.Expr]) -> bool:
    return any(issubclass(kind, wanted) for kind in kinds)


def _column_types(resolved: Resolved) -> dict[str, DataType]:
    """The types of columns by name; a name that several tables give different types is left out."""
    types: dict[str, DataType | None] = {}
    for relation in resolved.relations.values():
        for field in relation.fields():
            first_type = types.setdefault(field.name, field.type)
            if first_type is not None and first_type.as_nullable() != field.type.as_nullable():
                types[field.name] = None
    return {name: data_type for name, data_type in types.items() if data_type is not None}


def _name_outputs(tree: exp.Expr, *, is_flink: bool) -> None:
    """An output without a name is EXPR$ and its position in Flink, and its text in Spark."""
    query = tree
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return
    for number, output in enumerate(query.expressions):
        plain = output.unnest()
        if not isinstance(plain, exp.Alias | exp.Column | exp.Star | exp.Dot):
            name = f"EXPR${number}" if is_flink else _spark_name(plain)
            output.replace(exp.alias_(output.copy(), name, quoted=True))


def _spark_name(node: exp.Expr) -> str:
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "count(1)"
    text = node.sql(PaimonSpark, normalize_functions="lower", comments=False)
    return f"({text})" if isinstance(node, exp.Binary) else text


def _maps(tree: exp.Expr) -> None:
    """``MAP['k', 1]`` makes a map."""
    for bracket in list(tree.find_all(exp.Bracket)):
        name = bracket.this
        if isinstance(name, exp.Column) and not name.table and name.name.upper() == "MAP":
            parts = bracket.expressions
            keys, values = exp.Array(expressions=parts[::2]), exp.Array(expressions=parts[1::2])
            bracket.replace(exp.Map(keys=keys, values=values))


def _unnest_rows(tree: exp.Expr, types: Mapping[str, DataType]) -> None:
    """UNNEST of an ARRAY of ROWs, or of a MAP, gives a column for each part of the elements."""
    for unnest in list(tree.find_all(exp.Unnest)):
        operand = unnest.expressions[0] if unnest.expressions else None
        alias = unnest.args.get("alias")
        if operand is None or alias is None:
            continue
        data_type = types.get(operand.name) if isinstance(operand, exp.Column) else None
        is_map = data_type is not None and data_type.root == "MAP"
        is_rows = data_type is not None and data_type.element is not None and data_type.element.root == "ROW"
        if is_map or is_rows or len(alias.columns) > 1:
            _spread(unnest, operand, alias, is_map=is_map)


def _spread(unnest: exp.Unnest, operand: exp.Expr, alias: exp.TableAlias, *, is_map: bool) -> None:
    entries: exp.Expr = exp.Anonymous(this="map_entries", expressions=[operand]) if is_map else operand
    depth = exp.PropertyEQ(this=exp.to_identifier("max_depth"), expression=exp.Literal.number(2))
    spread = exp.Anonymous(this="unnest", expressions=[entries, depth])
    unnest.replace(exp.Lateral(this=exp.Subquery(this=exp.select(spread)), alias=alias))


def _rows_of_spark(tree: exp.Expr) -> None:
    """``ROW(…)`` is a struct in Spark."""
    for row in list(tree.find_all(exp.Struct, exp.Anonymous)):
        if isinstance(row, exp.Struct) or str(row.this).upper() == "ROW":
            parts = [part.copy() for part in row.expressions]
            row.replace(exp.Anonymous(this="struct", expressions=parts))


def _unnest_in_spark(tree: exp.Expr, types: Mapping[str, DataType]) -> None:
    """A join with UNNEST is a LATERAL VIEW in Spark; `inline` gives a column for each field of a struct."""
    for select in list(tree.find_all(exp.Select)):
        for join in list(select.args.get("joins") or ()):
            unnest = join.this
            if not isinstance(unnest, exp.Unnest) or not unnest.expressions or not unnest.args.get("alias"):
                continue
            operand, alias = unnest.expressions[0], unnest.args["alias"]
            kind = types.get(operand.name) if isinstance(operand, exp.Column) else None
            is_map = kind is not None and kind.root == "MAP"
            is_rows = kind is not None and kind.element is not None and kind.element.root == "ROW"
            function = "inline" if not is_map and (is_rows or len(alias.columns) > 1) else "explode"
            spread = exp.Anonymous(this=function, expressions=[operand.copy()])
            outer = (join.side or "").upper() == "LEFT"
            join.pop()
            select.append("laterals", exp.Lateral(this=spread, view=True, outer=outer, alias=alias.copy()))


def _dates(tree: exp.Expr, types: Mapping[str, DataType], *, is_flink: bool) -> None:
    """A date and days, months or years give a date, in Flink hours as well, where DuckDB gives a timestamp."""
    for node in list(tree.find_all(exp.TsOrDsAdd, exp.Add, exp.Sub)):
        is_span = _is_days(node.expression) or (is_flink and isinstance(node.expression.unnest(), exp.Interval))
        if isinstance(node, exp.TsOrDsAdd) or (is_span and _is_date(node.this, types)):
            node.replace(exp.cast(node.copy(), "DATE"))


def _is_days(node: exp.Expr) -> bool:
    node = node.unnest()
    return isinstance(node, exp.Interval) and str(node.args.get("unit") or "").upper().rstrip("S") in (
        "DAY", "WEEK", "MONTH", "QUARTER", "YEAR",
    )  # fmt: skip


def _is_date(node: exp.Expr, types: Mapping[str, DataType]) -> bool:
    node = node.unnest()
    if TYPE in node.meta:
        return bool(node.meta[TYPE].root == "DATE")
    if isinstance(node, exp.Cast):
        return bool(node.to.this == exp.DType.DATE)
    kind = types.get(node.name) if isinstance(node, exp.Column) else None
    return kind is not None and kind.root == "DATE"


def _casts(tree: exp.Expr, types: Mapping[str, DataType]) -> None:
    """A cast to an integer cuts off, where DuckDB rounds; seconds since 1970 are whole; texts of times show no zone."""
    for cast in list(tree.find_all(exp.Cast)):
        if UNKNOWN in cast.meta and cast.to.this in exp.DataType.TEXT_TYPES:
            cast.set("this", exp.Anonymous(this="paimon_text", expressions=[cast.this.copy()]))
        if cast.to.this in exp.DataType.INTEGER_TYPES and _is_fraction(cast.this, types):
            cast.set("this", exp.Anonymous(this="trunc", expressions=[cast.this.copy()]))
    for seconds in list(tree.find_all(exp.StrToUnix, exp.TimeToUnix)):
        if isinstance(seconds, exp.StrToUnix) and seconds.args.get("format") is not None:
            time = exp.StrToTime(this=seconds.this.copy(), format=seconds.args["format"].copy())
            instant = exp.Cast(this=time, to=exp.DataType(this=exp.DType.TIMESTAMPTZ))
            seconds.replace(exp.cast(exp.Anonymous(this="epoch", expressions=[instant]), "BIGINT"))
        else:
            seconds.replace(exp.cast(seconds.copy(), "BIGINT"))


def _is_fraction(node: exp.Expr, types: Mapping[str, DataType]) -> bool:
    """Whether an expression is surely a number with digits after the decimal point."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        return _is_fraction(node.this, types)
    if isinstance(node, exp.Literal):
        return not node.is_string and not str(node.this).isdecimal()
    if isinstance(node, exp.Column):
        kind = types.get(node.name)
        return kind is not None and kind.root in ("FLOAT", "DOUBLE", "DECIMAL")
    if isinstance(node, exp.Cast):
        return node.to.this in (exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL)
    return isinstance(node, _ARITHMETIC) and any(_is_fraction(side, types) for side in (node.this, node.expression))
