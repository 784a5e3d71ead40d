"""Which rows of a query's result can change when rows of one partition of a source do, derived from the query alone.

An output column *carries* a column of a source if every row of the result that a row of the source takes part in has
the same value in both: as where the query selects the column, groups by it, or joins another table on it. Then a change
in the source's partition ``ds = 'x'`` reaches rows of the result with ``ds = 'x'`` alone. What this module does not
understand (windows, limits, outer joins other than LEFT, …) carries nothing, which is always safe. A source may be read
several times, also through a WITH that is used twice: each reading counts by itself.

A query is *linear* if the rows that new rows of its sources add to the result are the result over the new rows alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, build_scope

from maintenance.sql.dialects import Flink, known
from maintenance.sql.query.resolve import Resolved
from maintenance.types.data_type import DataType

# A reading of a relation: its name, and a number that no other reading has.
Reading = tuple[str, int]
# The columns that an output column carries.
Carried = Mapping[Reading, str]
# A column of a source in FROM.
Place = tuple[str, str]
CASE_SENSITIVE = "spark, normalization_strategy = case_sensitive"
# Of sqlglot's classes of functions that ask the clock, the session or chance, also where they have arguments.
_CLOCK_AND_CHANCE = ("Current", "Local", "Utc", "Session", "Rand", "Uniform", "Normal", "Uuid", "Shuffle", "Seq", "Sys")
_UNKNOWN = (exp.Anonymous, exp.AnonymousAggFunc, exp.TableSample, exp.Command)
_CUTTING = ("limit", "offset", "qualify", "windows", "laterals", "sample", "pivots", "by_name", "match", "connect")
_BARE_CLOCKS = {"CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIME", "LOCALTIMESTAMP", "SYSDATE"}


@dataclass(frozen=True, slots=True)
class Alignment:
    """What is known of a query.

    Attributes:
        columns: of each output column by position what it carries.
        readings: of all relations.
        is_linear: see above.
    """

    columns: Sequence[Carried]
    readings: frozenset[Reading]
    is_linear: bool = False

    def carried(self, relations: frozenset[str], output: int) -> frozenset[str] | None:
        """The columns of relations that an output column carries, whichever way they are read; None = not always."""
        readings = [reading for reading in self.readings if reading[0] in relations]
        columns = self.columns[output] if output < len(self.columns) else {}
        if not readings or any(reading not in columns for reading in readings):
            return None
        return frozenset(columns[reading] for reading in readings)


def is_repeatable(tree: exp.Expr) -> bool:
    """Whether a query gives the same for the same rows: no clock, no chance, and no function that is not known here."""
    tree = known(tree.copy(), is_flink=True)
    if any(True for _ in tree.find_all(*_UNKNOWN)):
        return False
    for function in tree.find_all(exp.Func):
        # One without arguments can only ask the clock or chance, unless a window gives it rows.
        asks = not isinstance(function.parent, exp.Window) and not any(True for _ in function.iter_expressions())
        if asks or type(function).__name__.startswith(_CLOCK_AND_CHANCE):
            return False
    bare = (column for column in tree.find_all(exp.Column) if not column.table and not column.this.args.get("quoted"))
    return not any(column.name.upper() in _BARE_CLOCKS for column in bare)


def alignment_of(resolved: Resolved) -> Alignment:
    """What is known of a query; nothing where sqlglot does not understand it."""
    relations = frozenset((name, -1) for name in resolved.relations)
    try:
        tree = qualified(resolved)
        scope = build_scope(tree)
    except (SqlglotError, RecursionError):
        return Alignment((), relations)
    if scope is None or any(with_.args.get("recursive") for with_ in tree.find_all(exp.With)):
        return Alignment((), relations)
    types = {
        name: {f.name: f.type.as_nullable() for f in relation.fields()} for name, relation in resolved.relations.items()
    }
    outputs = _Walk(types).of(scope)
    missed = {name for name in resolved.relations if name not in {reading[0] for reading in outputs.readings}}
    return Alignment(
        outputs.columns, outputs.readings | {(name, -1) for name in missed}, outputs.is_linear and not missed
    )


def qualified(resolved: Resolved) -> exp.Query:
    """The query with each column under the name of its table, and stars spelled out. Raises: SqlglotError."""
    columns: dict[str, object] = {
        name: {f.name: "STRING" for f in relation.fields()} for name, relation in resolved.relations.items()
    }
    tree: Any = qualify(
        known(resolved.tree.copy(), is_flink=resolved.source.dialect is Flink),
        dialect=CASE_SENSITIVE,
        schema=columns,
        validate_qualify_columns=False,
        quote_identifiers=False,
        identify=False,
    )
    if not isinstance(tree, exp.Query):
        raise SqlglotError("not a query")
    return tree


@dataclass(slots=True)
class _Walk:
    """The way through the scopes of a query. `types`: of the columns of each relation."""

    types: Mapping[str, Mapping[str, DataType]]
    numbers: Iterator[int] = field(default_factory=count)

    def of(self, scope: Scope) -> Alignment:
        node = scope.expression
        if isinstance(node, exp.SetOperation):
            return self._union(scope)
        if isinstance(node, exp.Select):
            return self._select(scope, node)
        return Alignment((), self._all_readings(scope))

    def _all_readings(self, scope: Scope) -> frozenset[Reading]:
        names = {table.name for inner in scope.traverse() for table in inner.tables}
        return frozenset((name, next(self.numbers)) for name in names & self.types.keys())

    def _union(self, scope: Scope) -> Alignment:
        node, sides = scope.expression, [self.of(side) for side in scope.set_operation_scopes]
        readings = frozenset().union(*(side.readings for side in sides))
        widths = {len(side.columns) for side in sides}
        if not isinstance(node, exp.Union) or len(widths) != 1 or _cuts(node):
            return Alignment((), readings)
        columns = [
            {reading: column for carried in position for reading, column in carried.items()}
            for position in zip(*(side.columns for side in sides), strict=True)
        ]
        linear = not node.args.get("distinct") and all(side.is_linear for side in sides)
        return Alignment(columns, readings, linear)

    def _select(self, scope: Scope, select: exp.Select) -> Alignment:
        sources = {name: self._source(source) for name, source in scope.sources.items() if _is_read(name, scope)}
        nested = [self.of(inner) for inner in scope.subquery_scopes]
        readings = frozenset().union(*(part.readings for part in (*sources.values(), *nested)))
        items = [select.args.get("from_") or select.args.get("from"), *(select.args.get("joins") or ())]
        if _cuts(select) or not _are_plain(items, scope):
            return Alignment((), readings)
        equal = _Equalities.of(items, select, lambda place: self._type(sources, place))
        columns = [self._carried(output, select, sources, equal) for output in select.expressions]
        linear = (
            len(items) == 1
            and not nested
            and not select.args.get("group")
            and not select.args.get("having")
            and not select.args.get("distinct")
            and not any(True for e in select.expressions for _ in e.find_all(exp.AggFunc))
            and all(source.is_linear for source in sources.values())
        )
        return Alignment(columns, readings, linear)

    def _source(self, source: exp.Expr | Scope) -> Alignment:
        """A table gives each of its columns; they are looked up by name."""
        if isinstance(source, Scope):
            inner = self.of(source)
            return _Named(
                inner.columns, inner.readings, inner.is_linear, tuple(cast(exp.Query, source.expression).named_selects)
            )
        reading = (source.name, next(self.numbers))
        known = frozenset({reading}) if source.name in self.types else frozenset()
        return _Whole((), known, bool(known))

    def _type(self, sources: Mapping[str, Alignment], place: Place) -> DataType | None:
        """The type of a column that is one of relations, None = it is computed, or several."""
        carried = _column_of(sources[place[0]], place[1]) if place[0] in sources else {}
        types = {self.types[reading[0]].get(column) for reading, column in carried.items()}
        return types.pop() if len(types) == 1 else None

    def _carried(
        self, output: exp.Expr, select: exp.Select, sources: Mapping[str, Alignment], equal: "_Equalities"
    ) -> Carried:
        plain = output.unalias()
        if not isinstance(plain, exp.Column) or plain.table not in sources or plain.table in equal.padded:
            return {}
        group = select.args.get("group")
        if group is not None and plain not in [_group_expression(e, select) for e in group.expressions]:
            return {}
        columns: dict[Reading, str] = {}
        for table, column in equal.reach((plain.table, plain.name)):
            if table in sources:
                columns.update(_column_of(sources[table], column))
        return columns


@dataclass(frozen=True, slots=True)
class _Named(Alignment):
    """A query in FROM. `names`: of its columns."""

    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Whole(Alignment):
    """A table in FROM."""


def _column_of(source: Alignment, name: str) -> Carried:
    if isinstance(source, _Whole):
        return dict.fromkeys(source.readings, name)
    if isinstance(source, _Named) and source.names.count(name) == 1 and len(source.names) == len(source.columns):
        return source.columns[source.names.index(name)]
    return {}


def _group_expression(node: exp.Expr, select: exp.Select) -> exp.Expr:
    """What is grouped by: a number stands for an output."""
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        position = int(node.name) - 1
        if position < len(select.expressions):
            output: exp.Expr = select.expressions[position].unalias()
            return output
    return node


def _is_read(name: str, scope: Scope) -> bool:
    """Whether a source of a scope is one of its FROM, rather than of a query around it."""
    return name in scope.selected_sources


def _cuts(node: exp.Expr) -> bool:
    """Whether rows of the result depend on rows beside them, in ways that no column tells."""
    if any(node.args.get(part) for part in _CUTTING):
        return True
    if not isinstance(node, exp.Select):
        return False
    distinct, group = node.args.get("distinct"), node.args.get("group")
    if distinct is not None and distinct.args.get("on"):
        return True
    if group is not None and any(value for key, value in group.args.items() if key != "expressions"):
        return True
    outputs = [found for e in node.expressions for found in e.find_all(exp.Window, exp.UDTF, exp.Explode)]
    return bool(outputs)


def _are_plain(items: Sequence[exp.Expr | None], scope: Scope) -> bool:
    """Whether FROM has tables and queries only, joined by inner, cross and left joins."""
    for item in items:
        if item is None or not isinstance(item.this, exp.Table | exp.Subquery):
            return False
        if item.this.args.get("pivots") or item.this.args.get("sample") or item.this.alias_or_name not in scope.sources:
            return False
        if isinstance(item, exp.Join) and not _is_plain_join(item):
            return False
    return True


def _is_plain_join(join: exp.Join) -> bool:
    side, kind = (join.side or "").upper(), (join.kind or "").upper()
    return (
        not join.method
        and side in ("", "LEFT")
        and kind in ("", "INNER", "CROSS", "OUTER")
        and not join.args.get("using")
    )


@dataclass(frozen=True, slots=True)
class _Equalities:
    """Attributes: `leads`: from a column to those that rows must have the same value in; `padded`: tables whose rows a
    LEFT JOIN may replace by nulls."""

    leads: Mapping[Place, frozenset[Place]]
    padded: frozenset[str]

    @classmethod
    def of(
        cls, items: Sequence[exp.Expr | None], select: exp.Select, type_of: Callable[[Place], DataType | None]
    ) -> "_Equalities":
        """`type_of`: columns of other types may be equal although their texts are not."""
        leads: dict[Place, set[Place]] = {}
        padded: set[str] = set()
        where = select.args.get("where")
        conditions = [(c, "") for c in _conjuncts(where.this if where else None)]
        for join in items:
            if not isinstance(join, exp.Join):
                continue
            name = join.this.alias_or_name
            left = (join.side or "").upper() == "LEFT"
            padded |= {name} if left else set()
            conditions += [(c, name if left else "") for c in _conjuncts(join.args.get("on"))]
        for condition, only in conditions:
            for one, other in _equal_columns(condition):
                # What a LEFT JOIN compares says something of its own rows, and nothing of those before it.
                if only in ("", other[0]) and type_of(one) is not None and type_of(one) == type_of(other):
                    leads.setdefault(one, set()).add(other)
        return cls({place: frozenset(others) for place, others in leads.items()}, frozenset(padded))

    def reach(self, start: Place) -> set[Place]:
        reached, waiting = {start}, [start]
        while waiting:
            for other in self.leads.get(waiting.pop(), frozenset()) - reached:
                reached.add(other)
                # From a row that may be nulls nothing follows.
                if other[0] not in self.padded:
                    waiting.append(other)
        return reached


def _equal_columns(condition: exp.Expr) -> list[tuple[Place, Place]]:
    if not isinstance(condition, exp.EQ):
        return []
    sides = [side.unnest() for side in (condition.left, condition.right)]
    if not all(isinstance(side, exp.Column) and side.table for side in sides):
        return []
    one, other = [(cast(exp.Column, side).table, side.name) for side in sides]
    return [(one, other), (other, one)]


def _conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    if node is None:
        return []
    node = node.unnest()
    return (
        [part for side in (node.left, node.right) for part in _conjuncts(side)] if isinstance(node, exp.And) else [node]
    )
