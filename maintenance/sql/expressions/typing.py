"""The types of a query's expressions, and what DuckDB is told instead: one pass from the inside out."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sqlglot import exp

from maintenance.errors import SqlError
from maintenance.sql.cursor import Source
from maintenance.sql.expressions import declared, kinds, refusals
from maintenance.sql.expressions.conversions import Wanted, cast_node, converted
from maintenance.sql.expressions.duck_aggregates import gathers
from maintenance.sql.expressions.entries import Call, Entry, Typed, fitted, solved
from maintenance.sql.expressions.kinds import NULL
from maintenance.sql.expressions.scopes import Scope
from maintenance.sql.expressions.table import entries_of
from maintenance.sql.expressions.templates import PLACES, made, renamed
from maintenance.sql.expressions.zeros import is_constant, is_decided, is_float, unsigned
from maintenance.sql.place import unknown_column
from maintenance.types.data_type import DataType

OF_OUTPUT = "paimon_output"
"""Under this key a name has the type of the query's output that it means, in `meta`."""

OPERATORS: Mapping[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div", exp.EQ: "=",
    exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "distinct", exp.And: "and", exp.Or: "or", exp.DPipe: "||", exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|", exp.BitwiseXor: "^", exp.RegexpLike: "rlike",
    exp.BitwiseLeftShift: "<<",
}  # fmt: skip
_PREFIXES: Mapping[type[exp.Expr], str] = {exp.Neg: "negative", exp.Not: "not", exp.BitwiseNot: "~"}
_AS_WITHOUT_DISTINCT = ("min", "max")
"""Spark leaves DISTINCT out of these, and so the signs of zeros in."""
_ORDERED = frozenset((
    "greatest", "least", "sort_array", "array_sort", "array_max", "array_min", "array_distinct", "array_union",
    "array_contains", "array_position", "array_except", "array_intersect", "arrays_overlap", "array_remove",
))  # fmt: skip
"""What compares the values that it is given, or the elements of arrays."""
_LOOSE = frozenset(
    {"+", "-", "*", "negative", "=", "<>", "<", "<=", ">", ">=", "<=>", "sum", "count", "is_null", "is_not_null"}
)
"""What takes decimals of any digits."""


# Where Flink takes a NULL as it is written: from which argument on.
_TAKES_NULL: Mapping[str, int] = {
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "<=>", "distinct", "is_null", "is_not_null", "typeof"), 0),
    **dict.fromkeys(("coalesce", "ifnull"), 0),
    **dict.fromkeys(("nullif", "array_contains", "array_append", "array_prepend", "array_remove", "array_position"), 1),
    **dict.fromkeys(("array_join", "array_slice"), 1),
}


@dataclass(slots=True)
class Typing:
    """The pass over one query.

    Attributes: `query`: types a query inside an expression, and gives its columns.
    """

    source: Source
    is_flink: bool
    zone: str
    query: Callable[[exp.Expr, Scope], Sequence[tuple[str, DataType]]]
    forms: Mapping[type[exp.Expr], Callable[["Typing", Any, Scope], Typed]] = field(default_factory=dict)

    def of(self, node: exp.Expr, scope: Scope) -> Typed:
        """An expression with its type. Raises: SqlError: something in it is not known."""
        kind = type(node)
        form = self.forms.get(kind)
        if form is not None:
            return form(self, node, scope)
        if kind in OPERATORS:
            return self.call(OPERATORS[kind], [node.this, node.expression], node, scope)
        if kind in _PREFIXES:
            return self.call(_PREFIXES[kind], [node.this], node, scope)
        if isinstance(node, exp.Func):
            given = [part for value in node.args.values() for part in (value if isinstance(value, list) else [value])]
            name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
            arguments = node.expressions if isinstance(node, exp.Anonymous) else given
            return self.call(name, [part for part in arguments if isinstance(part, exp.Expr)], node, scope)
        raise refusals.unsupported(self.source, node, node.key.upper().replace("_", " "))

    def value(self, node: exp.Expr, scope: Scope) -> Typed:
        """An expression whose digits are those of its type."""
        return settled(self.of(node, scope))

    def truth(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """A condition. Raises: SqlError: a value of another type, which is none in either engine."""
        value = self.of(node, scope)
        if value.kind not in (kinds.BOOLEAN, NULL):
            problem = f"a condition is expected, and {kinds.shown(value.kind)} is no BOOLEAN"
            raise refusals.error_at(self.source, value.written, problem, "Compare it with something.")
        return self.in_type(value, kinds.BOOLEAN)

    def in_type(self, value: Typed, kind: DataType) -> exp.Expr:
        """A value as another type, by the dialect's own rules. Raises: SqlError."""
        node = converted(value, Wanted(kind, self.is_flink))
        if node is None:
            problem = f"{kinds.shown(value.kind)} is no {kinds.shown(kind)}"
            raise refusals.error_at(self.source, value.written, problem, "Cast it.")
        return node

    def common(self, values: Sequence[Typed], written: exp.Expr) -> tuple[DataType, list[exp.Expr]]:
        """Values in the type that holds all of them."""
        found = [value.kind for value in values]
        kind = kinds.widest(found, is_flink=self.is_flink)
        kind = kinds.first_of(found, kind) if self.is_flink else kind
        if kind is None or not (self.is_flink or kinds.are_named_alike(found)):
            shown = " and ".join(sorted({kinds.shown(value.kind) for value in values}))
            raise refusals.error_at(self.source, written, f"{shown} have no type in common", "Cast one of them.")
        return kind, [self.in_type(value, kind) for value in values]

    # Calls

    def call(
        self,
        name: str,
        written: Sequence[exp.Expr],
        node: exp.Expr,
        scope: Scope,
        wrap: Callable[[exp.Expr], exp.Expr] | None = None,
        *,
        is_over: bool = False,
    ) -> Typed:
        """A call of an entry. `wrap`: puts the condition and the window of an aggregate around it."""
        name = name.lower()
        is_distinct = len(written) == 1 and isinstance(written[0], exp.Distinct)
        if is_distinct:
            written = written[0].expressions
        arguments = [self._argument(part, scope) for part in written]
        return self.called(name, arguments, node, scope, wrap, is_distinct=is_distinct, is_over=is_over)

    def called(
        self,
        name: str,
        arguments: list[Typed],
        node: exp.Expr,
        scope: Scope,
        wrap: Callable[[exp.Expr], exp.Expr] | None = None,
        *,
        is_distinct: bool = False,
        is_over: bool = False,
    ) -> Typed:
        """The same of arguments whose types are known."""
        if name not in _LOOSE:
            arguments = [settled(argument) for argument in arguments]
        self._check_nulls(name, arguments, node)
        self._check_stamps(name, arguments, node)
        call = Call(name, arguments, self.is_flink, written=node, typing=self, is_distinct=is_distinct, is_over=is_over)
        found = self._entry(call, node)
        if not self.is_flink and name in _ORDERED and not all(map(kinds.has_order, call.kinds)):
            raise refusals.no_such_types(self.source, node, name, call.kinds)
        if found.role in ("aggregate", "window") and wrap is None:
            wrap = _plainly
        elif found.role in ("value", "rows") and (wrap is not None or is_distinct):
            what = "DISTINCT" if is_distinct else "FILTER or OVER"
            raise refusals.unsupported(self.source, node, f"{what} with {name.upper()}", "Leave it out.")
        if found.role == "window" and not is_over:
            raise refusals.error_at(self.source, node, "a function of windows stands without OVER", "Add OVER (…).")
        if is_distinct and not self.is_flink and name not in _AS_WITHOUT_DISTINCT:
            for each in call.arguments:
                each.node = unsigned(each.node, each.kind)
        self._lambdas(found, call, scope)
        kind = solved_kind(found, call)
        if kind is None:
            raise refusals.no_such_types(self.source, node, name, [each.shown_kind for each in call.arguments])
        call.kind = kind
        said = self._said(found, call)
        result = said if isinstance(said, Typed) else Typed(said, call.kind, node)
        if self.is_flink:
            result.declared = declared.of_call(call)
            result.node = self.without_sign(result.node, result.kind, node)
        if wrap is not None:
            result.node = wrapped(result.node, wrap, node)
        elif "start" in node.meta and "start" not in result.node.meta:
            result.node.meta.update(place_of(node))
        return result

    def without_sign(self, made: exp.Expr, kind: DataType, node: exp.Expr) -> exp.Expr:
        """A float, without the sign of a zero if Flink reckons it when it plans. It reckons what is cast as a whole."""
        around = node.parent
        while isinstance(around, exp.Paren):
            around = around.parent
        is_whole = isinstance(node, exp.Neg) or not isinstance(around, exp.Cast)
        return unsigned(made, kind) if is_float(kind) and is_whole and is_constant(node) else made

    def _check_nulls(self, name: str, arguments: Sequence[Typed], node: exp.Expr) -> None:
        """Flink finds no type for a NULL that is written in most places."""
        first = _TAKES_NULL.get(name)
        if not self.is_flink:
            return
        if name == "array" and any(each.kind != NULL for each in arguments):
            return
        for number, each in enumerate(arguments):
            if each.kind == NULL and isinstance(each.written.unnest(), exp.Null) and (first is None or number < first):
                problem = f"a NULL in {name.partition('.')[0].upper()} has no type"
                raise refusals.error_at(self.source, node, problem, "Write CAST(NULL AS INT), or another type.")

    def _check_stamps(self, name: str, arguments: Sequence[Typed], node: exp.Expr) -> None:
        """Timestamps and instants side by side in an array or a map, whose type in Flink is not known here."""
        roots = {each.kind.root for each in arguments if each.kind.is_timestamp}
        if self.is_flink and name in ("array", "map") and len(roots) > 1:
            raise refusals.no_such_types(self.source, node, name, [each.kind for each in arguments])

    def _entry(self, call: Call, node: exp.Expr) -> Entry:
        """The entry for the arguments, which become what it takes."""
        entries = entries_of("flink" if self.is_flink else "spark").get(call.name, ())
        if not entries:
            raise refusals.unknown_function(self.source, node, call.name, call.kinds)
        best: tuple[int, Entry, list[DataType], dict[str, DataType]] | None = None
        for found in entries:
            fit = fitted(found, call)
            if fit is not None and (best is None or fit[0] < best[0]):
                best = fit[0], found, fit[1], call.bound
                if not fit[0]:
                    break
        if best is None:
            counts = [(each.least, each.most) for each in entries]
            if not any(
                least <= len(call.arguments) and (most is None or len(call.arguments) <= most) for least, most in counts
            ):
                raise self._wrong_count(call, node, counts)
            raise refusals.no_such_types(self.source, node, call.name, call.kinds)
        _, found, targets, call.bound = best
        for argument, target in zip(call.arguments, targets, strict=True):
            if target != argument.kind and not isinstance(argument.written, exp.Lambda):
                argument.node, argument.kind = self.in_type(argument, target), target
                argument.is_loose = False
        return found

    def _wrong_count(self, call: Call, node: exp.Expr, counts: Sequence[tuple[int, int | None]]) -> SqlError:
        least = min(least for least, _ in counts)
        most = None if any(most is None for _, most in counts) else max(most or 0 for _, most in counts)
        shown = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
        problem = f"{call.name.partition('.')[0].upper()} gets {len(call.arguments)} arguments and takes {shown}"
        return refusals.error_at(self.source, node, problem, "Give as many.")

    def _argument(self, node: exp.Expr, scope: Scope) -> Typed:
        if isinstance(node, exp.Lambda):
            return Typed(node, NULL, node)
        if isinstance(node, exp.Star):
            return Typed(node, kinds.INT, node)
        return self.of(node, scope)

    def _lambdas(self, found: Entry, call: Call, scope: Scope) -> None:
        """Type the lambdas of a call, whose arguments have the types of variables by now."""
        for number, argument in enumerate(call.arguments):
            if not isinstance(argument.written, exp.Lambda):
                continue
            query = argument.written.find(exp.Query)
            if query is not None:
                raise refusals.unsupported(self.source, query, "a subquery in a lambda", "Join its rows first.")
            gathered = next(
                (part for part in argument.written.find_all(exp.Func, exp.Window) if _is_of_rows(part)), None
            )
            if gathered is not None:
                problem = "an aggregate or window function stands in a lambda"
                raise refusals.error_at(self.source, gathered, problem, "Compute it in a subquery.")
            shape = found.parameter(number, len(call.arguments)).alternatives[0]
            takes, _, gives = (part.strip() for part in shape.partition("->"))
            expected = [part.strip() for part in takes.strip("()").split(",")]
            names = [each.name for each in argument.written.expressions]
            if len(names) > len(expected):
                problem = f"a lambda of {call.name.upper()} takes {len(expected)} arguments at most"
                raise refusals.error_at(self.source, argument.written, problem, "Leave the others out.")
            own = {
                name.lower(): (solved(text.rstrip("?"), call.bound), _local(name, text))
                for name, text in zip(names, expected, strict=False)
            }
            body = self.value(argument.written.this, Scope(around=scope, names=own))
            if gives in ("T", "U", "K", "V") and gives not in call.bound:
                call.bound[gives] = body.kind
            wanted = body.kind if gives == "ANY" else solved(gives, call.bound)
            self._check_body(call, argument, gives, body.kind, wanted)
            node = self.in_type(body, wanted)
            listed = [exp.to_identifier(f"paimon_{name.lower()}", quoted=True) for name in names]
            argument.node, argument.kind = exp.Lambda(this=node, expressions=listed, colon=True), wanted

    def _check_body(self, call: Call, argument: Typed, gives: str, kind: DataType, wanted: DataType) -> None:
        """Spark casts nothing that is a condition, or goes on as what is gathered."""
        if self.is_flink or kind in (wanted, NULL):
            return
        problem = f"the lambda of {call.name.upper()} gives {kinds.shown(kind)}"
        if gives == "BOOLEAN":
            problem = f"{problem} where a condition is needed"
            raise refusals.error_at(self.source, argument.written, problem, "Cast it to BOOLEAN.")
        if gives == "U" and call.name in ("aggregate", "reduce"):
            fix = f"Cast what it begins with, or the result to {kinds.shown(wanted)}."
            raise refusals.error_at(self.source, argument.written, problem, fix)

    def _said(self, found: Entry, call: Call) -> exp.Expr | Typed:
        if not isinstance(found.says, str):
            return found.says(call)
        nodes = call.nodes
        if call.is_distinct:
            nodes = [exp.Distinct(expressions=[nodes[0]]), *nodes[1:]]
        used = sum(f"{place}" in _words(found.says) for place in PLACES)
        return _distinct_once(made(found.says, nodes, used))

    # Names

    def column(self, node: exp.Column, scope: Scope) -> Typed:
        """A column, a field of a row in one, or the argument of a lambda."""
        if OF_OUTPUT in node.meta:
            return Typed(node, node.meta[OF_OUTPUT], node)
        names = [part.name for part in node.parts]
        local = scope.local(names[0])
        if local is not None:
            kind, instead = local
            return self._inside(Typed(instead.copy(), kind, node), names[1:], node)
        found = scope.find(names)
        if found is None:
            raise self._missing(node, names, scope)
        kind, inner = found
        if not inner:
            made = unsigned(node, kind) if is_float(kind) and is_decided(node) else node
            return Typed(made, kind, node, declared=scope.declared_of(names))
        parts = list(node.parts)[: len(names) - len(inner)]
        column = exp.Column(this=parts[-1], table=parts[-2] if len(parts) > 1 else None)
        return self._inside(Typed(column, kind, node), inner, node)

    def knows(self, node: exp.Column, scope: Scope) -> bool:
        """Whether a column's name is one."""
        names = [part.name for part in node.parts]
        return scope.local(names[0]) is not None or scope.find(names) is not None

    def _inside(self, value: Typed, names: Sequence[str], node: exp.Expr) -> Typed:
        for name in names:
            value = self.field(value, name, node)
        return value

    def field(self, value: Typed, name: str, node: exp.Expr) -> Typed:
        """A field of a row, or in Spark's dialect that of each row in an array."""
        element = value.kind.element
        if value.kind.root == "ARRAY" and element is not None and element.root == "ROW" and not self.is_flink:
            inner = self.field(Typed(exp.column("_e"), element, value.written), name, node)
            each = exp.Lambda(this=inner.node, expressions=[exp.to_identifier("_e")], colon=True)
            listed = exp.Anonymous(this="list_transform", expressions=[value.node, each])
            return Typed(listed, kinds.array(inner.kind), node)
        fields = value.kind.fields
        if not fields:
            problem = f"{kinds.shown(value.kind)} has no fields, and '{name}' is asked of it"
            raise refusals.error_at(self.source, node, problem, "Name a column or a field.")
        found = next((part for part in fields if part.name.lower() == name.lower()), None)
        if found is None:
            problem, fix = unknown_column(name, [part.name for part in fields])
            raise refusals.error_at(self.source, node, problem, fix)
        taken = exp.Anonymous(this="struct_extract", expressions=[value.node, exp.Literal.string(found.name)])
        # The lengths of texts inside of rows are not known here.
        return Typed(taken, found.type, node, declared=None if found.type.is_string else found.type)

    def _missing(self, node: exp.Column, names: Sequence[str], scope: Scope) -> SqlError:
        table = names[0].lower()
        if (
            len(names) > 1
            and table not in scope.sources
            and not any(table in (name.lower() for name, _ in columns) for columns in scope.sources.values())
        ):
            return refusals.error_at(
                self.source, node.parts[0], f"'{names[0]}' is not in FROM", "Name it there, or leave it out here."
            )
        own = scope.sources.get(table) if len(names) > 1 else None
        columns = scope.columns() if own is None else sorted({name for name, _ in own})
        columns = [name for name in columns if not name.startswith("_paimon")]
        wrong = node.this if own is None or len(node.parts) < 2 else node.parts[1]
        problem, fix = unknown_column(wrong.name, columns)
        return refusals.error_at(self.source, wrong, problem, fix)


def _is_of_rows(node: exp.Expr) -> bool:
    """Whether it is an aggregate, or a function over a window."""
    if isinstance(node, exp.Window):
        return True
    name = node.name if isinstance(node, exp.Anonymous) else node.sql_name() if isinstance(node, exp.Func) else ""
    return any(each.role in ("aggregate", "window") for each in entries_of("spark").get(name.lower(), ()))


def settled(value: Typed) -> Typed:
    """A value whose digits are those of its type."""
    if not value.is_loose:
        return value
    return Typed(cast_node(value.node, value.kind), value.kind, value.written, declared=value.declared)


def solved_kind(found: Entry, call: Call) -> DataType | None:
    """The type of a result."""
    gives = found.gives
    if not isinstance(gives, str):
        return gives(call)
    return call.kinds[int(gives) - 1] if gives.isdigit() else solved(gives, call.bound)


def _local(name: str, text: str) -> exp.Expr:
    """The argument of a lambda as DuckDB knows it. It counts elements from 1, where Spark does from 0."""
    column: exp.Expr = exp.column(exp.to_identifier(f"paimon_{name.lower()}", quoted=True))
    return made("CAST(a - 1 AS INTEGER)", [column]) if text.startswith("INT") else column


def _distinct_once(tree: exp.Expr) -> exp.Expr:
    """DISTINCT stands in aggregates alone, and not in the conditions on what they are of."""
    return renamed(
        tree, lambda node: node.expressions[0] if isinstance(node, exp.Distinct) and not _is_gathered(node) else None
    )


def _is_gathered(node: exp.Expr) -> bool:
    return node.parent is not None and gathers(node.parent)


def _plainly(node: exp.Expr) -> exp.Expr:
    return node


@cache
def _words(template: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", template))


_GATHERED = "paimon_gathered"
"""This key is in the `meta` of aggregates whose condition and window stand around them."""


def place_of(node: exp.Expr) -> dict[str, int]:
    """Where an expression stands, as `meta` has it."""
    return {key: node.meta[key] for key in ("start", "end") if key in node.meta}


def wrapped(tree: exp.Expr, wrap: Callable[[exp.Expr], exp.Expr], written: exp.Expr) -> exp.Expr:
    """The tree with a condition and a window around each aggregate of a template. `written`: what it stands for."""
    for node in reversed(list(tree.walk())):
        if not gathers(node) or _GATHERED in node.meta:
            continue
        node.meta[_GATHERED] = True
        node.meta.update(place_of(written))
        place = node.parent if isinstance(node.parent, exp.Filter | exp.WithinGroup) else node
        marker = exp.Null()
        if place is tree:
            return wrap(place)
        place.replace(marker)
        marker.replace(wrap(place))
    return tree
