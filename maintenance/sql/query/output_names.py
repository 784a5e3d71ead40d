"""Names of columns to which a query gives none. Source: Spark's `toPrettySQL`, and Flink's, which counts them."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from sqlglot import exp

from maintenance.sql.dialects import DIGITS, UNSIGNED, PaimonSpark
from maintenance.sql.expressions.generators import name_of
from maintenance.types.casts.cast import STRING, cast
from maintenance.types.data_type import DataType


def name_outputs(tree: exp.Expr, types: Mapping[str, DataType], *, is_flink: bool) -> None:
    """An output without a name is EXPR$ and its position in Flink, and what it computes in Spark.

    Args: `types`: of the tables' columns, as far as they are known.
    """
    query = tree
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    if not isinstance(query, exp.Select):
        return
    names = _Names({name.lower(): kind for name, kind in types.items()})
    for number, output in enumerate(query.expressions):
        plain = output.unnest()
        is_computed = not isinstance(plain, exp.Alias | exp.Aliases | exp.Column | exp.Star | exp.Dot)
        if not is_flink and isinstance(plain, exp.Dot):
            is_computed = not isinstance(plain.expression, exp.Star) and not isinstance(_before(plain), exp.Column)
        if is_computed and not name_of(plain):
            name = f"EXPR${number}" if is_flink else names.of_output(plain)
            output.replace(exp.alias_(output.copy(), name, quoted=True))


def _before(field: exp.Expr) -> exp.Expr:
    """What a field is of, or a field of that."""
    while isinstance(field, exp.Dot):
        field = field.this.unnest()
    return field


_SIGNS: Mapping[type, str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div", exp.EQ: "=", exp.GT: ">",
    exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.NullSafeEQ: "<=>", exp.And: "AND", exp.Or: "OR", exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|", exp.BitwiseXor: "^", exp.BitwiseLeftShift: "<<",
}  # fmt: skip
_SUFFIXED = (exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT)
_MOMENTS = {exp.DType.TIMESTAMPTZ: "TIMESTAMP", exp.DType.TIMESTAMPLTZ: "TIMESTAMP"}
_MOMENTS[exp.DType.TIMESTAMPNTZ] = "TIMESTAMP_NTZ"
_RANKS = ("rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "row_number")
_IN_CAPITALS = frozenset(
    {
        "rank", "dense_rank", "percent_rank", "signum", "sqrt", "acos", "asin", "cot", "sin", "cos", "tan", "atan",
        "exp", "degrees", "radians", "cbrt", "sec", "csc", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "atan2",
        "power", "log10", "log2", "log", "log1p", "expm1", "hypot", "pi", "e",
        "regexp", "regexp_like", "rlike",
    }
)  # fmt: skip
_CASTS = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date", "timestamp", "binary",
    "string",
)  # fmt: skip
_VARIABLE = "namedlambdavariable()"
# What calls of so many arguments are shown as.
_WRITTEN: Mapping[tuple[str, int], str] = {
    **{(name, 1): "{0}" for name in _CASTS},
    **{(name, 2): f"{name}({{0}})" for name in ("first", "last", "first_value", "last_value", "any_value")},
    **{(name, 3): f"{name}({{0}}, {{1}})" for name in ("variant_get", "try_variant_get")},
    **{
        (name, 3): f"{name}({{0}}, {{1}}, {{2}}, lambdafunction({_VARIABLE}, {_VARIABLE}))"
        for name in ("aggregate", "reduce")
    },
    ("array_agg", 1): "collect_list({0})",
    (
        "array_sort",
        1,
    ): "array_sort({0}, lambdafunction((IF(((X IS NULL) AND (X IS NULL)), 0, (IF((X IS NULL), 1, (IF((X IS NULL), -1,"
    " (IF((X < X), -1, (IF((X > X), 1, 0)))))))))), X, X))".replace("X", _VARIABLE),
    ("curdate", 0): "current_date()",
    ("datepart", 2): "datepart({0} FROM {1})",
    ("convert_timezone", 2): "convert_timezone(current_timezone(), {0}, {1})",
    ("dateadd", 2): "date_add({0}, {1})",
    ("dateadd", 3): "timestampadd({0}, {1}, {2})",
    ("datediff", 3): "timestampdiff({0}, {1}, {2})",
    ("if", 3): "(IF({0}, {1}, {2}))",
    ("isnotnull", 1): "({0} IS NOT NULL)",
    ("isnull", 1): "({0} IS NULL)",
    ("like", 2): "{0} LIKE {1}",
    ("log", 1): "LOG(E(), {0})",
    ("ltrim", 2): "TRIM(LEADING {0} FROM {1})",
    ("mode", 2): "mode() WITHIN GROUP (ORDER BY {0} DESC)",
    ("positive", 1): "(+ {0})",
    ("rtrim", 2): "TRIM(TRAILING {0} FROM {1})",
}
# How many arguments have to be given, and those that are shown if they are not.
_DEFAULTS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "bround": (1, ("0",)), "from_unixtime": (1, ("yyyy-MM-dd HH:mm:ss",)), "listagg": (1, ("NULL",)),
    "locate": (2, ("1",)), "lpad": (2, (" ",)), "mask": (1, ("X", "x", "n", "NULL")), "months_between": (2, ("true",)),
    "percentile": (2, ("1",)), "regexp_extract": (2, ("1",)), "regexp_extract_all": (2, ("1",)),
    "regexp_instr": (2, ("0",)), "regexp_replace": (3, ("1",)), "replace": (2, ("",)), "round": (1, ("0",)),
    "rpad": (2, (" ",)), "sort_array": (1, ("true",)), "split": (2, ("-1",)), "str_to_map": (1, (",", ":")),
    "string_agg": (1, ("NULL",)), "unix_timestamp": (0, ("current_timestamp()", "yyyy-MM-dd HH:mm:ss")),
}  # fmt: skip


class _Names:
    """Shows expressions as Spark does: in parentheses, and texts without quotes."""

    def __init__(self, types: Mapping[str, DataType]) -> None:
        """`types`: of columns, by their names in lower case."""
        self._types = types

    def of_output(self, node: exp.Expr) -> str:
        is_cast = isinstance(node, exp.Cast) and isinstance(node.this, exp.Column) and len(self._path(node.this)) == 1
        return node.this.name if is_cast else self._shown(node)

    def _shown(self, node: exp.Expr | None) -> str:
        if node is None:
            return ""
        form = next((_FORMS[kind] for kind in type(node).__mro__ if kind in _FORMS), None)
        shown = None if form is None else form(self, node)
        if shown is None and type(node) in _SIGNS:
            return f"({self._shown(node.this)} {_SIGNS[type(node)]} {self._shown(node.expression)})"
        return node.sql(PaimonSpark, normalize_functions="lower", comments=False) if shown is None else shown

    def _listed(self, nodes: Sequence[exp.Expr]) -> str:
        return ", ".join(map(self._shown, nodes))

    # Columns and parts of them

    def _path(self, node: exp.Column) -> list[str]:
        """The names of a column and of fields inside it, without those of its table."""
        names = [part.name for part in node.parts]
        while len(names) > 1:
            kind = self._types.get(names[0].lower())
            if kind is not None and _field(kind, names[1]) is not None:
                break
            del names[0]
        return names

    def _kind(self, node: exp.Expr) -> DataType | None:
        """The type of a column or a part of one; None: unknown."""
        match node:
            case exp.Column():
                first, *fields = self._path(node)
                kind = self._types.get(first.lower())
                for name in fields:
                    kind = kind and _field(kind, name)
                return kind
            case exp.Dot():
                kind = self._kind(node.this)
                return kind and _field(kind, node.expression.name)
            case exp.Bracket():
                kind, key = self._kind(node.this), node.expressions[0]
                if kind is None or kind.root == "MAP":
                    return kind and kind.value
                return _field(kind, key.name) if _is_text(key) else kind.element
            case exp.Cast():
                return DataType("DATE") if node.to.this == exp.DType.DATE else None
        return None

    def _bracket(self, node: exp.Bracket) -> str:
        base, key = self._kind(node.this), node.expressions[0]
        if base is not None and base.root in ("ROW", "ARRAY") and _is_text(key):
            return f"{self._shown(node.this)}.{key.name}"
        return f"{self._shown(node.this)}[{self._listed(node.expressions)}]"

    def _dot(self, node: exp.Dot) -> str:
        return f"{self._shown(node.this)}.{node.expression.name}"

    # Arithmetic

    def _added(self, node: exp.Add | exp.Sub) -> str | None:
        """Sums with times are functions, or have no parentheses."""
        left, right = node.this, node.expression
        if isinstance(node, exp.Add) and self._is_step(left) and not self._is_step(right):
            left, right = right, left
        kind = self._kind(left)
        if kind is None or not (kind.root == "DATE" or kind.is_timestamp):
            return None
        is_interval, is_minus = isinstance(right, exp.Interval), isinstance(node, exp.Sub)
        if is_interval and kind.root == "DATE" and right.args["unit"].name.upper() == "DAY":
            days = f"extractansiintervaldays({self._shown(right)})"
            return f"date_add({self._shown(left)}, {f'(- {days})' if is_minus else days})"
        if is_interval:
            return f"{self._shown(left)} {'-' if is_minus else '+'} {self._shown(right)}"
        if kind.root == "DATE" and self._is_step(right):
            return f"{'date_sub' if is_minus else 'date_add'}({self._shown(left)}, {self._shown(right)})"
        return None

    def _is_step(self, node: exp.Expr) -> bool:
        kind = self._kind(node)
        return isinstance(node, exp.Interval | exp.Literal) or (kind is not None and kind.is_integer)

    def _times(self, node: exp.Mul) -> str | None:
        right = node.expression
        return f"({self._shown(right)} * {self._shown(node.this)})" if isinstance(right, exp.Interval) else None

    def _shifted(self, node: exp.BitwiseRightShift) -> str:
        sign = ">>>" if UNSIGNED in node.expression.meta else ">>"
        return f"({self._shown(node.this)} {sign} {self._shown(node.expression)})"

    def _minus(self, node: exp.Neg) -> str:
        return f"-{node.this.name}" if isinstance(node.this, exp.Literal) else f"(- {self._shown(node.this)})"

    def _literal(self, node: exp.Literal) -> str:
        return node.name if node.is_string or "E" not in node.name.upper() else _double(node.name)

    # Conditions

    def _not(self, node: exp.Not) -> str:
        inner = node.this
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return f"({self._shown(inner.this)} IS NOT NULL)"
        return f"(NOT {self._shown(inner)})"

    def _is(self, node: exp.Is) -> str | None:
        right = node.expression
        if isinstance(right, exp.Boolean):
            return f"({self._shown(node.this)} <=> {self._shown(right)})"
        return f"({self._shown(node.this)} IS NULL)" if isinstance(right, exp.Null) else None

    def _like(self, node: exp.Like | exp.ILike, escape: str = "") -> str:
        is_not, pattern = bool(node.args.get("negate")), node.expression
        if isinstance(pattern, exp.Any | exp.All):
            kind = "any" if isinstance(pattern, exp.Any) else "all"
            return f"{'not' if is_not else ''}like{kind}({self._shown(node.this)})"
        left, right = self._shown(node.this), self._shown(pattern)
        shown = f"ilike({left}, {right})" if isinstance(node, exp.ILike) else f"{left} LIKE {right}{escape}"
        return f"(NOT {shown})" if is_not else shown

    def _escape(self, node: exp.Escape) -> str | None:
        escape = f" ESCAPE '{node.expression.name}'"
        return self._like(node.this, escape) if isinstance(node.this, exp.Like | exp.ILike) else None

    def _in(self, node: exp.In) -> str:
        listed = "listquery()" if node.args.get("query") is not None else self._listed(node.expressions)
        return f"({self._shown(node.this)} IN ({listed}))"

    def _case(self, node: exp.Case) -> str:
        subject = node.this
        parts = ["CASE"]
        for each in node.args["ifs"]:
            condition = each.this if subject is None else exp.EQ(this=subject, expression=each.this)
            parts.append(f"WHEN {self._shown(condition)} THEN {self._shown(each.args['true'])}")
        default = node.args.get("default")
        return " ".join([*parts, *([] if default is None else [f"ELSE {self._shown(default)}"]), "END"])

    # Functions

    def _call(self, node: exp.Anonymous) -> str:
        name, shown = node.name.lower(), [self._shown(each) for each in node.expressions]
        if name == "count" and node.expressions and isinstance(node.expressions[0], exp.Star):
            return "count(1)"
        written = _WRITTEN.get((name, len(shown)))
        if written is not None:
            return written.format(*shown)
        least, defaults = _DEFAULTS.get(name, (0, ()))
        shown += defaults[max(0, len(shown) - least) :]
        return f"{name.upper() if name in _IN_CAPITALS else name}({', '.join(shown)})"

    def _lambda(self, node: exp.Lambda) -> str:
        variables = {each.name.lower() for each in node.expressions}
        inside = _Names({name: kind for name, kind in self._types.items() if name not in variables})
        body = node.this.copy()
        whole = exp.Paren(this=body)
        for name in list(whole.find_all(exp.Identifier)):
            is_field = isinstance(name.parent, exp.Dot) and name.arg_key == "expression"
            if name.name.lower() in variables and not is_field:
                plain = name.parent if isinstance(name.parent, exp.Column) else name
                plain.replace(exp.Anonymous(this="namedlambdavariable"))
        return f"lambdafunction({', '.join([inside._shown(whole), *[_VARIABLE] * len(node.expressions)])})"

    def _substring(self, node: exp.Substring) -> str:
        given = self._listed([node.this, node.args["start"]])
        return f"substring({given}, {self._shown(node.args.get('length')) or 2**31 - 1})"

    def _overlay(self, node: exp.Overlay) -> str:
        given = self._listed([node.this, node.expression, node.args["from_"]])
        return f"overlay({given}, {self._shown(node.args.get('for_')) or -1})"

    def _position(self, node: exp.StrPosition) -> str:
        given = self._listed([node.args["substr"], node.this])
        return f"locate({given}, {self._shown(node.args.get('position')) or 1})"

    def _trim(self, node: exp.Trim) -> str:
        if node.expression is None:
            name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or "").upper(), "trim")
            return f"{name}({self._shown(node.this)})"
        return (
            f"TRIM({node.args.get('position') or 'BOTH'} {self._shown(node.expression)} FROM {self._shown(node.this)})"
        )

    def _rounded(self, node: exp.Ceil | exp.Floor) -> str:
        name, places = type(node).__name__, node.args.get("decimals")
        given = [node.this] if places is None else [node.this, places]
        return f"{name.upper() if places is None else name.lower()}({self._listed(given)})"

    def _cast(self, node: exp.Cast) -> str:
        inner = node.this
        if isinstance(inner, exp.Literal):
            if inner.is_string and DIGITS in node.to.meta and node.to.this in _MOMENTS:
                clock = "" if ":" in inner.name else " 00:00:00"
                return f"{_MOMENTS[node.to.this]} '{_FRACTION.sub(_of_micros, inner.name)}{clock}'"
            if inner.is_string and node.to.this == exp.DType.DATE:
                return f"DATE '{inner.name}'"
            if not inner.is_string and node.to.this in _SUFFIXED:  # 2.5D
                return _double(inner.name) if node.to.this == exp.DType.DOUBLE else str(inner.name)
        name = "TRY_CAST" if isinstance(node, exp.TryCast) else "CAST"
        return f"{name}({self._shown(inner)} AS {node.to.sql(PaimonSpark)})"

    # Aggregates and windows

    def _order(self, order: exp.Expr) -> str:
        keys = []
        for each in order.expressions:
            falls = bool(each.args.get("desc"))
            first = each.args.get("nulls_first", not falls)
            keys.append(f"{self._shown(each.this)} {'DESC' if falls else 'ASC'} NULLS {'FIRST' if first else 'LAST'}")
        return f"ORDER BY {', '.join(keys)}"

    def _within(self, node: exp.WithinGroup) -> str:
        name = node.this.name.lower()
        if name == "mode":
            return f"mode() WITHIN GROUP (ORDER BY {self._shown(node.expression.expressions[0].this)} DESC)"
        if name in ("listagg", "string_agg"):
            call = exp.Anonymous(this="listagg", expressions=[each.copy() for each in node.this.expressions])
            return f"{self._shown(call)} WITHIN GROUP ({self._order(node.expression)})"
        return f"{self._shown(node.this)} WITHIN GROUP (ORDER BY {self._listed(node.expression.expressions)})"

    def _ignoring(self, node: exp.IgnoreNulls) -> str:
        inner = node.this
        if isinstance(inner, exp.Anonymous) and inner.name.lower() in ("first_value", "last_value"):
            return f"{inner.name.lower()[:-6]}({self._shown(inner.expressions[0])})"
        shown = self._shown(inner)
        return f"{shown} ignore nulls" if shown.startswith("nth_value(") else shown

    def _window(self, node: exp.Window) -> str:
        inner = node.this.this if isinstance(node.this, exp.IgnoreNulls | exp.RespectNulls) else node.this
        name = inner.name.lower() if isinstance(inner, exp.Anonymous) else ""
        keys, order, frame = (_of_window(node, part) for part in ("partition_by", "order", "spec"))
        call = self._shown(node.this)
        if name in ("lag", "lead"):
            given = inner.expressions
            place = self._shown(given[1]) if len(given) > 1 else "1"
            bound = f"{'-' if name == 'lag' else ''}{place} FOLLOWING"
            shown = f"ROWS BETWEEN {bound} AND {bound}"
            call = f"{name}({self._shown(given[0])}, {place}, {self._shown(given[2]) if len(given) > 2 else 'NULL'})"
        elif frame is not None:
            bounds = " AND ".join(self._bound(frame, side) for side in ("start", "end"))
            shown = f"{frame.args.get('kind').upper()} BETWEEN {bounds}"
        elif order is None:
            shown = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        else:
            kind = "ROWS" if name in _RANKS and name != "cume_dist" else "RANGE"
            shown = f"{kind} BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        parts = [f"PARTITION BY {self._listed(keys)}"] if keys else []
        parts += [self._order(order)] if order is not None else []
        return f"{call} OVER ({' '.join([*parts, shown])})"

    def _bound(self, frame: exp.Expr, side: str) -> str:
        bound, direction = frame.args.get(side), frame.args.get(f"{side}_side") or ""
        shown = self._shown(bound) if isinstance(bound, exp.Expr) else str(bound or "").upper()
        return f"{shown} {direction.upper()}".strip() or "CURRENT ROW"


def _of_window(node: exp.Window, part: str) -> Any:
    """A part of a window, which may be defined behind WINDOW."""
    own, alias, select = node.args.get(part), node.args.get("alias"), node.find_ancestor(exp.Select)
    if own or alias is None or select is None:
        return own
    windows = select.args.get("windows") or ()
    named = next((each for each in windows if each.this.name.lower() == alias.name.lower()), None)
    return None if named is None else named.args.get(part)


def _field(kind: DataType, name: str) -> DataType | None:
    """The type of a field of a ROW, or of those in an ARRAY."""
    if kind.root == "ARRAY" and kind.element is not None:
        inner = _field(kind.element, name)
        return None if inner is None else DataType("ARRAY", element=inner)
    return next((field.type for field in kind.fields if field.name.lower() == name.lower()), None)


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


# Where a fraction of a second stands in a text.
_FRACTION = re.compile(r"(?<=:\d\d)\.(\d+)(?=$|\D)")


def _of_micros(fraction: re.Match[str]) -> str:
    """The digits of a fraction of a second that Spark keeps."""
    digits = fraction[1][:6].rstrip("0")
    return f".{digits}" if digits else ""


def _double(text: str) -> str:
    """A number as Java writes it."""
    return str(cast(pa.chunked_array([pa.array([float(text)])]), DataType("DOUBLE"), STRING)[0])


_FORMS: Mapping[type, Callable[[Any, Any], str | None]] = {
    exp.Add: _Names._added,
    exp.Anonymous: _Names._call,
    exp.Array: lambda names, node: f"array({names._listed(node.expressions)})",
    exp.Any: lambda names, node: f"any({names._shown(node.this)})",
    exp.Between: lambda names, node: f"between({names._listed([node.this, node.args['low'], node.args['high']])})",
    exp.BitwiseRightShift: _Names._shifted,
    exp.Boolean: lambda _, node: str(node.this).lower(),
    exp.Bracket: _Names._bracket,
    exp.Case: _Names._case,
    exp.Cast: _Names._cast,
    exp.Ceil: _Names._rounded,
    exp.Column: lambda names, node: ".".join(names._path(node)),
    exp.CurrentDate: lambda *_: "current_date()",
    exp.Distinct: lambda names, node: f"DISTINCT {names._listed(node.expressions)}",
    exp.Dot: _Names._dot,
    exp.DPipe: lambda names, node: f"concat({names._shown(node.this)}, {names._shown(node.expression)})",
    exp.Escape: _Names._escape,
    exp.Exists: lambda *_: "exists()",
    exp.Extract: lambda names, node: f"extract({node.this.name} FROM {names._shown(node.expression)})",
    exp.Filter: lambda names, node: f"{names._shown(node.this)} FILTER (WHERE {names._shown(node.expression.this)})",
    exp.Floor: _Names._rounded,
    exp.HexString: lambda _, node: f"X'{node.name.upper()}'",
    exp.IgnoreNulls: _Names._ignoring,
    exp.ILike: _Names._like,
    exp.In: _Names._in,
    exp.Is: _Names._is,
    exp.Lambda: _Names._lambda,
    exp.Like: _Names._like,
    exp.Literal: _Names._literal,
    exp.Mul: _Names._times,
    exp.Neg: _Names._minus,
    exp.NEQ: lambda names, node: f"(NOT ({names._shown(node.this)} = {names._shown(node.expression)}))",
    exp.Not: _Names._not,
    exp.NullSafeNEQ: lambda names, node: f"(NOT ({names._shown(node.this)} <=> {names._shown(node.expression)}))",
    exp.Ordered: lambda names, node: f"{names._shown(node.this)}{' DESC' if node.args.get('desc') else ''}",
    exp.Overlay: _Names._overlay,
    exp.Paren: lambda names, node: names._shown(node.this),
    exp.Query: lambda *_: "scalarsubquery()",
    exp.RawString: lambda _, node: node.name,
    exp.RegexpLike: lambda names, node: f"RLIKE({names._shown(node.this)}, {names._shown(node.expression)})",
    exp.RespectNulls: lambda names, node: names._shown(node.this),
    exp.StrPosition: _Names._position,
    exp.Sub: _Names._added,
    exp.Substring: _Names._substring,
    exp.Trim: _Names._trim,
    exp.Window: _Names._window,
    exp.WithinGroup: _Names._within,
}
