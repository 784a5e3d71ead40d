"""What a query means in its dialect, in the words of the engine that runs it: DuckDB, or Spark."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.sql.dialects import Flink, known
from maintenance.sql.expressions.queries import type_query
from maintenance.sql.flink_on_spark.casts import shape_casts_on_spark
from maintenance.sql.flink_on_spark.decimal_types import Rules
from maintenance.sql.flink_on_spark.decimals import cast_decimals
from maintenance.sql.flink_on_spark.expression_types import ExpressionTypes
from maintenance.sql.flink_on_spark.integers import shape_integers
from maintenance.sql.flink_on_spark.parts_of_times import mark_parts
from maintenance.sql.flink_on_spark.renamed_functions import shape_flink
from maintenance.sql.query.intervals import shape_intervals
from maintenance.sql.query.output_names import name_outputs
from maintenance.sql.query.resolve import Resolved
from maintenance.types.data_type import DataType


def shaped(resolved: Resolved, *, embedded: bool) -> None:
    """Change the tree of a query to what it means in its dialect. `embedded`: DuckDB runs it."""
    is_flink = resolved.source.dialect is Flink
    if is_flink and not embedded:
        resolved.columns = _columns_in_flink(resolved)
        resolved.tree = known(resolved.tree, is_flink=True)
    tree = resolved.tree
    # Each step looks at the whole tree, so one without what it is about is left out.
    kinds = {type(node) for node in tree.walk()}
    if _has(kinds, exp.HexString):
        _empty_bytes(tree)
    if _has(kinds, exp.Interval):
        shape_intervals(tree, resolved.source, embedded=embedded)
    if is_flink:
        _unknown(tree)
    if embedded or is_flink:
        name_outputs(tree, {} if is_flink else _column_types(resolved), is_flink=is_flink)
    if embedded:
        resolved.columns = type_query(resolved)
    elif is_flink:
        _for_spark(resolved)


def _columns_in_flink(resolved: Resolved) -> Sequence[tuple[str, DataType]]:
    """The types that Flink gives; Spark's own functions have others."""
    typed = replace(resolved, tree=resolved.tree.copy())
    try:
        columns = type_query(typed)
    except SqlError:
        return ()  # Spark knows what the table of expressions does not
    resolved.declared = typed.declared
    return columns


def _for_spark(resolved: Resolved) -> None:
    """Flink's dialect for Spark, whose own needs no change."""
    tree, types = resolved.tree, _column_types(resolved)
    expression_types = ExpressionTypes(resolved, is_flink=True)
    _refuse_spreads(tree, expression_types)
    mark_parts(tree)
    elements = [node for node in tree.find_all(exp.Bracket) if _is_of_array(node, expression_types)]
    shape_casts_on_spark(tree, expression_types)
    for node in elements:
        # Spark fails at a place that an array has not, where Flink has NULL; literals count from 0 already.
        (place,) = node.expressions
        first = place if isinstance(place, exp.Literal) else exp.Sub(this=place, expression=exp.Literal.number(1))
        node.replace(exp.Anonymous(this="GET", expressions=[node.this.copy(), first.copy()]))
    rules = Rules.of_query(tree, types, is_flink=True)
    _maps(tree)
    shape_integers(tree, rules)
    shape_flink(tree, types, rules)
    cast_decimals(tree, rules)
    _rows_of_spark(tree)
    _unnest_in_spark(tree, types)


_SPREADS = (exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop)


def _refuse_spreads(tree: exp.Expr, types: ExpressionTypes) -> None:
    """Raises: SqlError: a variance or deviation of what is no float, which Flink reckons in its type."""
    for node in tree.find_all(*_SPREADS):
        kind = types.of(node.this)
        if kind is None or kind.root not in ("FLOAT", "DOUBLE"):
            problem = (
                f"{node.sql_name()} of {'a computed value' if kind is None else kind.root} is not supported on Spark"
            )
            raise SqlError(problem, "query", "Cast it to DOUBLE, or use a session without Spark.")


def _is_of_array(node: exp.Bracket, types: ExpressionTypes) -> bool:
    kind = types.of(node.this)
    is_array = isinstance(node.this.unnest(), exp.Array) or (kind is not None and kind.root == "ARRAY")
    return is_array and len(node.expressions) == 1


def _has(kinds: Set[type[exp.Expr]], *wanted: type[exp.Expr]) -> bool:
    return any(issubclass(kind, wanted) for kind in kinds)


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


def _column_types(resolved: Resolved) -> dict[str, DataType]:
    """The types of columns by name; a name that several tables give different types is left out."""
    types: dict[str, DataType | None] = {}
    for relation in resolved.relations.values():
        for field in relation.fields():
            first_type = types.setdefault(field.name, field.type)
            if first_type is not None and first_type.as_nullable() != field.type.as_nullable():
                types[field.name] = None
    return {name: data_type for name, data_type in types.items() if data_type is not None}


def _maps(tree: exp.Expr) -> None:
    """``MAP['k', 1]`` makes a map."""
    for bracket in list(tree.find_all(exp.Bracket)):
        name = bracket.this
        if isinstance(name, exp.Column) and not name.table and name.name.upper() == "MAP":
            parts = bracket.expressions
            keys, values = exp.Array(expressions=parts[::2]), exp.Array(expressions=parts[1::2])
            bracket.replace(exp.Map(keys=keys, values=values))


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
