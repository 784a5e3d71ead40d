"""The parts of queries in which expressions stand: what is read there, what is given, and the types of both."""

import itertools
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

from sqlglot import exp

from maintenance.errors import UnsupportedError
from maintenance.sql.dialects import Flink
from maintenance.sql.expressions import kinds, refusals, zeros
from maintenance.sql.expressions.conversions import Wanted, converted
from maintenance.sql.expressions.declared import common_length
from maintenance.sql.expressions.entries import Typed
from maintenance.sql.expressions.filters import with_itself
from maintenance.sql.expressions.forms import FORMS, ordered, specification
from maintenance.sql.expressions.generators import name_of, rows_of, unnested, with_places
from maintenance.sql.expressions.kinds import NULL, plain
from maintenance.sql.expressions.scopes import Columns, Declared, Scope, Shown
from maintenance.sql.expressions.stamps import is_wide, with_earlier
from maintenance.sql.expressions.table import is_many
from maintenance.sql.expressions.templates import filled
from maintenance.sql.expressions.typing import OF_OUTPUT, Typing
from maintenance.sql.query.carried import declared_types, is_carried
from maintenance.sql.query.resolve import Resolved
from maintenance.types.arrow import data_type_of_arrow
from maintenance.types.data_type import DataType

_UNNAMED = "paimon "
"""Begins the name of what has none in FROM; no statement can say it."""


def type_query(resolved: Resolved) -> Columns:
    """Tell DuckDB what the expressions of a query mean in its dialect; the columns that it gives.

    Raises: SqlError: something in it is not known.
    """
    tree = resolved.tree
    if isinstance(tree, exp.Values):
        tree = resolved.tree = exp.select("*").from_(tree)
    columns = Queries(resolved).columns(tree, Scope())
    resolved.declared = [kind for _, kind in tree.meta.get(_DECLARED, ())] or [None] * len(columns)
    with_earlier(resolved.tree, resolved.zone)
    return columns


@dataclass(slots=True)
class Queries:
    """The queries of one statement."""

    resolved: Resolved
    typing: Typing = field(init=False)

    def __post_init__(self) -> None:
        is_flink = self.resolved.source.dialect is Flink
        self.typing = Typing(self.resolved.source, is_flink, self.resolved.zone, self.columns, FORMS)

    def columns(self, node: exp.Expr, scope: Scope) -> Columns:
        """What a query gives, whose expressions DuckDB is told from then on."""
        scope = self._with(node, scope)
        match node:
            case exp.Select():
                return self._select(node, scope)
            case exp.Subquery():
                inner = (
                    self._read(node.this, scope) if isinstance(node.this, exp.Table) else self.columns(node.this, scope)
                )
                self._behind(node, scope, inner)
                return inner
            case exp.SetOperation():
                columns = self._united(node, scope)
                self._behind(node, scope, columns)
                if not isinstance(node, exp.Union) or node.args.get("distinct"):
                    self._tell_apart(node, columns)
                return columns
            case exp.Values():
                return self._values(node, scope)
            case exp.Table():
                return self._read(node, scope)
        raise refusals.unsupported(self.typing.source, node, node.key.upper())

    def _with(self, node: exp.Expr, scope: Scope) -> Scope:
        with_ = node.args.get("with_") or node.args.get("with")
        if with_ is None:
            return scope
        inner = Scope(around=scope)
        for cte in with_.expressions:
            query = cte.this
            if with_.args.get("recursive") and isinstance(query, exp.SetOperation):
                columns = self._recursive(cte, query, inner)
            else:
                columns = _renamed(cte, self.columns(query, inner))
            inner.tables[cte.alias.lower()] = columns
            inner.declared_tables[cte.alias.lower()] = _renamed(cte, _declared_of(cte, inner))
        return inner

    def _recursive(self, cte: exp.CTE, query: exp.SetOperation, scope: Scope) -> Columns:
        first = self.columns(query.this, scope)
        scope.tables[cte.alias.lower()] = _renamed(cte, first)
        other = self.columns(query.expression, scope)
        self._alike(query, [first, other], [kind for _, kind in first])
        return _renamed(cte, first)

    # SELECT

    def _select(self, select: exp.Select, around: Scope) -> Columns:
        scope = Scope(around=around)
        decided = zeros.decide(select) if self.typing.is_flink else set()
        self._sources(select, scope)
        for window in select.args.get("windows") or ():
            self._named_window(window, scope)
        self._check(select)
        where = select.args.get("where")
        if where is not None:
            where.set("this", self.typing.truth(self._simplified(where.this, scope), scope))
        given = self._outputs(select, scope, decided)
        if not self.typing.is_flink:
            _name_outputs_in_having(select, scope)
        self._groups(select, scope)
        for clause in ("having", "qualify"):
            found = select.args.get(clause)
            if found is not None:
                found.set("this", self.typing.truth(found.this, scope))
        distinct = select.args.get("distinct")
        if distinct is not None and distinct.args.get("on") is not None:
            raise refusals.unsupported(self.typing.source, distinct, "DISTINCT ON")
        if not self.typing.is_flink:
            zeros.without_signs(select, given)
        columns = [column for own in given for column in own]
        scope.outputs.update({name.lower(): kind for name, kind in columns})
        self._behind(select, scope, columns)
        if distinct is not None:
            self._tell_apart(select, columns)
        return columns

    def _outputs(self, select: exp.Select, scope: Scope, decided: Set[str]) -> Sequence[Columns]:
        """The columns of each output. In Spark those behind it may name them, and other clauses.

        Args: `decided`: see `zeros.decide`.
        """
        outputs: list[exp.Expr] = []
        given: list[Columns] = []
        select.meta[_DECLARED] = listed = list[tuple[str, DataType | None]]()
        is_outer = any(join.side for join in select.args.get("joins") or ())
        for output in select.expressions:
            for made, own, declared in self._output(output, scope):
                if decided and made.is_star:
                    zeros.replace_in(made, [each for each in own if each[0].lower() in decided])
                outputs.append(made)
                given.append(own)
                # What an outer join or a group without rows makes NULL is not NOT NULL.
                listed.extend((name, kind and kind.as_nullable(kind.nullable or is_outer)) for name, kind in declared)
                if not self.typing.is_flink:
                    scope.outputs.update({name.lower(): kind for name, kind in own})
        if self.typing.is_flink:
            outputs, given = _of_one_name_each(outputs, given)
        select.set("expressions", outputs)
        return given

    def _groups(self, select: exp.Select, scope: Scope) -> None:
        group = select.args.get("group")
        if group is None:
            return
        having = select.args.get("having")
        if group.args.get("all") and having is not None:
            # DuckDB would group by what HAVING names as well.
            keys = {column.name.lower() for output in select.expressions for column in _bare_columns(output)}
            for column in _bare_columns(having):
                if OF_OUTPUT not in column.meta and column.name.lower() not in keys:
                    problem = f"column '{column.name}' is neither grouped nor aggregated"
                    raise refusals.error_at(self.typing.source, column, problem, "Select it, or take ANY_VALUE of it.")
        self._group(group, scope)
        if group.find(exp.Cube, exp.Rollup, exp.GroupingSets) is not None:
            # DuckDB has a row of totals for no rows.
            select.set("having", _and(select.args.get("having")))

    def _check(self, select: exp.Select) -> None:
        """Raises: SqlError: what the dialect refuses of a query, or has other values for."""
        group, where = select.args.get("group"), select.args.get("where")
        if group is not None and not self.typing.is_flink:
            _number_keys(select, group)
        if where is not None and isinstance(where.this.unnest(), exp.Null) and not self.typing.is_flink:
            raise refusals.error_at(self.typing.source, where, "NULL is no condition", "Write CAST(NULL AS BOOLEAN).")
        distinct, order = select.args.get("distinct"), select.args.get("order")
        if distinct is not None and order is not None:
            key = next((key for key in order.expressions if not _is_given(key, select)), None)
            if key is not None:
                problem, fix = "SELECT DISTINCT does not give what ORDER BY names", "Select it, or leave it out there."
                raise refusals.error_at(self.typing.source, key, problem, fix)
        if self.typing.is_flink:
            self._check_ranks(select)

    def _check_ranks(self, select: exp.Select) -> None:
        """Raises: SqlError: Flink would count rows that are alike one after the other."""
        windows = [node for output in select.expressions for node in output.find_all(exp.Window)]
        shares = next((node for node in windows if _name(node) == "cume_dist"), None)
        if shares is not None and any(_name(node) in _RANKS for node in windows):
            what, fix = "CUME_DIST beside another function of ranks", "Use a subquery for each."
            raise refusals.unsupported(self.typing.source, shares, what, fix)

    def _simplified(self, condition: exp.Expr, scope: Scope) -> exp.Expr:
        """A condition as Flink's planner simplifies it in WHERE."""
        simple = with_itself(condition, scope.sources) if self.typing.is_flink else None
        if simple is None:
            return condition
        self.typing.truth(condition, scope)  # what is wrong with it is an error all the same
        return simple

    def _tell_apart(self, query: exp.Expr, columns: Columns) -> None:
        """Let zeros of both signs be two values in Flink where a query gives each row once."""
        if not self.typing.is_flink:
            return
        if any(_has_map(kind) for _, kind in columns):
            raise refusals.unsupported(self.typing.source, query, "a MAP in rows that are compared", "Leave it out.")
        if not any(zeros.has_signs(kind) for _, kind in columns):
            return
        if not isinstance(query, exp.Select) and not query.args.get("distinct"):
            what = f"{query.key.upper()} ALL of FLOAT or DOUBLE"
            raise refusals.unsupported(self.typing.source, query, what, "Cast them to DECIMAL.")
        made = zeros.different(query, columns)
        if query is self.resolved.tree:
            self.resolved.tree = made
        else:
            query.replace(made)

    def _behind(self, query: exp.Expr, scope: Scope, columns: Columns) -> None:
        """ORDER BY and LIMIT."""
        if not isinstance(query, exp.Select):
            scope = Scope(around=scope, sources={"": columns})
        # A name alone is first of all that of an output.
        outputs, names = Scope(around=scope, sources={"": columns}), {name.lower() for name, _ in columns}
        for clause in ("order", "sort", "cluster", "distribute"):
            order = query.args.get(clause)
            if order is not None:
                keys = [key for each in order.expressions for key in _each_of_all(each, len(columns))]
                scopes = [outputs if _alone(each) in names else scope for each in keys]
                ordering = zip(keys, scopes, strict=True)
                order.set(
                    "expressions",
                    [each if _is_place(each) else ordered(self.typing, each, own) for each, own in ordering],
                )
        # One process has one partition, which is sorted whole.
        for clause in ("sort", "cluster", "distribute"):
            order = query.args.get(clause)
            query.set(clause, None)
            if order is not None and clause != "distribute":
                query.set("order", exp.Order(expressions=order.expressions))
        offset = query.args.get("offset")
        if self.typing.is_flink and query.args.get("order") and offset and not query.args.get("limit"):
            raise refusals.unsupported(self.typing.source, offset, "OFFSET without LIMIT", "Add a LIMIT.")
        for clause in ("limit", "offset"):
            found = query.args.get(clause)
            if isinstance(found, exp.Limit) and isinstance(found.expression, exp.Var):  # ALL
                query.set("limit", None)
            elif isinstance(found, exp.Limit | exp.Offset) and not isinstance(found.expression, exp.Literal):
                if self.typing.is_flink:
                    problem = f"{clause.upper()} is no number of rows"
                    raise refusals.error_at(self.typing.source, found, problem, "Write one.")
                found.set("expression", self.typing.value(found.expression, scope).node)

    def _output(self, output: exp.Expr, scope: Scope) -> list[tuple[exp.Expr, Columns, Declared]]:
        """What stands in the place of an output, the columns that it gives, and how these are declared."""
        star = output.this if isinstance(output, exp.Column) else output
        row = _row_before_star(output, scope)
        if row is not None:
            return self._fields(output, row, scope)
        if isinstance(output, exp.Star) and scope.hides:
            return self._spread(output, scope.shown, scope)
        if isinstance(star, exp.Star) and scope.hides and not self.typing.is_flink:
            # Source: Spark's `UnresolvedStar`.
            return self._spread(star, [each for each in (*scope.hidden, *scope.shown) if _is_of(each, output)], scope)
        if isinstance(star, exp.Star):
            declared = [(name, scope.declared_of([*([output.table] if isinstance(output, exp.Column) else []), name]))
                        for name, _ in self._starred(output, star, scope)]  # fmt: skip
            return [(output, self._starred(output, star, scope), declared)]
        inner = output.this if isinstance(output, exp.Alias | exp.Aliases) else output
        if name_of(inner) and self.typing.is_flink:
            raise refusals.unknown_function(self.typing.source, inner, name_of(inner), [])
        if name_of(inner):
            return self._generated(output, inner, scope)
        value = self.typing.value(inner, scope)
        if not self.typing.is_flink and is_wide(value.kind) and inner.find(exp.Column, exp.Query) is None:
            # A time that a statement writes has microseconds in Spark; beside columns that have more it keeps its own.
            kind = DataType(value.kind.root, precision=6)
            value = Typed(self.typing.in_type(value, kind), kind, value.written)
        name = output.alias if isinstance(output, exp.Alias) else output.output_name
        made = value.node
        if isinstance(output, exp.Alias):
            alias = output.args["alias"]
            made = exp.Alias(this=made, alias=alias)
        elif not isinstance(made, exp.Column) and name:
            made = exp.alias_(made, name, quoted=True)
        # In Spark only a column is a CHAR, no literal.
        own = value.declared if self.typing.is_flink or isinstance(inner, exp.Column) else None
        return [(made, [(name, value.kind)], [(name, own)])]

    def _spread(self, star: exp.Star, shown: Sequence[Shown], scope: Scope) -> list[tuple[exp.Expr, Columns, Declared]]:
        """The columns that a star stands for, one by one."""
        left_out = _left_out(star)
        found = [(name, self.typing.value(one.copy(), scope)) for name, one in shown if name.lower() not in left_out]
        return [
            (exp.alias_(one.node, name, quoted=True), [(name, one.kind)], [(name, one.declared)]) for name, one in found
        ]

    def _fields(self, output: exp.Expr, row: exp.Expr, scope: Scope) -> list[tuple[exp.Expr, Columns, Declared]]:
        """The fields of a row, for ``row.*``."""
        value = self.typing.value(row, scope)
        if value.kind.root != "ROW":
            problem = f"{kinds.shown(value.kind)} has no fields, and all of them are asked of it"
            raise refusals.error_at(self.typing.source, row, problem, "Name a table, or a column that is a ROW.")
        left_out = _left_out(output.expression if isinstance(output, exp.Dot) else output.this)
        names = [field.name for field in value.kind.fields if field.name.lower() not in left_out]
        found = [(name, self.typing.field(replace(value, node=value.node.copy()), name, row)) for name in names]
        return [
            (exp.alias_(one.node, name, quoted=True), [(name, one.kind)], [(name, one.declared)]) for name, one in found
        ]

    def _generated(self, output: exp.Expr, inner: exp.Expr, scope: Scope) -> list[tuple[exp.Expr, Columns, Declared]]:
        rows = rows_of(self.typing, inner, scope)
        if isinstance(output, exp.Aliases):
            names = [name.name for name in output.expressions]
        else:
            names = [output.alias] if isinstance(output, exp.Alias) and len(rows) == 1 else [name for name, _ in rows]
        if len(names) != len(rows):
            problem = f"{name_of(inner)} gives {len(rows)} columns"
            raise refusals.error_at(self.typing.source, inner, problem, "Give as many names and values.")
        return [
            (exp.alias_(value.node, name, quoted=True), [(name, value.kind)], [(name, None)])
            for name, (_, value) in zip(names, rows, strict=True)
        ]

    def _starred(self, output: exp.Expr, star: exp.Star, scope: Scope) -> Columns:
        wanted = output.table.lower() if isinstance(output, exp.Column) else ""
        left_out = _left_out(star)
        sources = [columns for name, columns in scope.sources.items() if wanted in ("", name)]
        return [column for columns in sources for column in columns if column[0].lower() not in left_out]

    def _group(self, group: exp.Expr, scope: Scope) -> None:
        for name, value in list(group.args.items()):
            if isinstance(value, list):
                group.set(name, [part for each in value for part in self._grouped(each, scope)])

    def _grouped(self, node: exp.Expr, scope: Scope) -> list[exp.Expr]:
        """A key, in Flink with what tells zeros of both signs apart."""
        if _is_place(node) and self.typing.is_flink:
            problem = f"Flink does not group by {node.name}, the place of a column"
            raise refusals.error_at(self.typing.source, node, problem, "Write the column.")
        if _is_place(node):
            return [node]
        if isinstance(node, exp.Cube | exp.Rollup | exp.GroupingSets | exp.Tuple):
            keys = [self._grouped(each, scope) for each in node.expressions]
            if isinstance(node, exp.Tuple):
                node.set("expressions", [part for key in keys for part in key])
            else:
                node.set("expressions", [key[0] if len(key) == 1 else exp.Tuple(expressions=key) for key in keys])
            return [node]
        if isinstance(node, exp.Paren):
            inner = self._grouped(node.this, scope)
            return [exp.Paren(this=inner[0]) if len(inner) == 1 else exp.Tuple(expressions=inner)]
        key = self.typing.value(node, scope)
        if self.typing.is_flink and _has_map(key.kind):
            raise refusals.unsupported(self.typing.source, node, "GROUP BY a MAP", "Leave it out.")
        return zeros.with_sign(key.node, key.kind) if self.typing.is_flink else [zeros.mark(key.node, key.kind)]

    def _named_window(self, window: exp.Expr, scope: Scope) -> None:
        made = specification(self.typing, cast(exp.Window, window), scope)
        for name in ("partition_by", "order", "spec"):
            window.set(name, made.args.get(name))

    # FROM

    def _sources(self, select: exp.Select, scope: Scope) -> None:
        first = select.args.get("from_") or select.args.get("from")
        shown = [] if first is None else self._source(first, "this", scope)
        for join in select.args.get("joins") or ():
            shown = self._join(join, scope, shown)
        known = set(scope.sources)
        for lateral in select.args.get("laterals") or ():
            self._view(select, lateral, scope)
        select.set("laterals", None)
        scope.shown = [*shown, *_shown_of(scope, known)]

    def _join(self, join: exp.Expr, scope: Scope, before: list[Shown]) -> list[Shown]:
        """Read what is joined. `before`: what a star would stand for without it. Returns: the same with it."""
        own = self._source(join, "this", scope)
        if join.args.get("on") is not None:
            join.set("on", self.typing.truth(join.args["on"], scope))
        names = [each.name.lower() for each in join.args.get("using") or ()]
        left, right = ({name.lower(): column for name, column in side} for side in (before, own))
        if str(join.args.get("method") or "").upper() == "NATURAL":
            names = [name for name in left if name in right]
        is_filter = str(join.args.get("kind") or "").upper() in ("SEMI", "ANTI")
        if not names and not is_filter:
            return [*before, *own]
        scope.hides = True
        # Columns that are compared stand once, and first. Source: Spark's `commonNaturalJoinProcessing`; SQL.
        side = str(join.args.get("side") or "").upper()
        keys = [
            (name, _of_either(left[name.lower()], right[name.lower()], side))
            for named in names
            for name, _ in before
            if name.lower() == named in right
        ]
        hidden = {"RIGHT": (left,), "FULL": (left, right)}.get(side, () if is_filter else (right,))
        scope.hidden = [*((name, columns[name]) for columns in hidden for name in names), *scope.hidden]
        rest = [*before, *([] if is_filter else own)]
        return [*keys, *(column for column in rest if column[0].lower() not in names)]

    def _source(self, around: exp.Expr, key: str, scope: Scope) -> list[Shown]:
        """Read what stands in FROM. Returns: what a star stands for, as far as it is of this."""
        known, node = set(scope.sources), around.args[key]
        if _is_in_parentheses(node):
            shown = self._source(node, "this", scope)
        else:
            self._add_source(around, key, scope)
            shown = _shown_of(scope, known)
        if isinstance(node, exp.Unnest | exp.Lateral):
            return shown
        for join in node.args.get("joins") or ():
            shown = self._join(join, scope, shown)
        known = set(scope.sources)
        laterals = node.args.get("laterals") or ()
        for lateral in laterals:
            made = self._generated_view(lateral, scope)
            node.append("joins", made)
        if laterals:
            node.set("laterals", None)
        return [*shown, *_shown_of(scope, known)]

    def _add_source(self, around: exp.Expr, key: str, scope: Scope) -> None:
        node = around.args[key]
        if isinstance(node, exp.Unnest):
            self._unnest(node, scope)
            return
        if isinstance(node, exp.Lateral):
            if self.typing.is_flink and isinstance(around, exp.Join) and around.side != "LEFT":
                self._refuse_totals(node)
            self._lateral(node, scope)
            return
        columns = self._columns_of(node, scope)
        name = node.alias_or_name.lower() or f"{_UNNAMED}{len(scope.sources)}"
        scope.sources[name] = columns
        relation = self.resolved.relations.get(node.name) if isinstance(node, exp.Table) else None
        if relation is not None:
            scope.declared[name] = _renamed(node, [(column.name, column.type) for column in relation.fields()])
        elif node.name in self.resolved.bound:
            scope.declared[name] = _renamed(node, declared_types(self.resolved.bound[node.name].schema))
        elif self.typing.is_flink or not isinstance(node, exp.Values):
            scope.declared[name] = _renamed(node, _declared_of(node, scope))

    def _columns_of(self, node: exp.Expr, scope: Scope) -> Columns:
        if node.args.get("pivots"):
            raise refusals.unsupported(self.typing.source, node, "PIVOT")
        if isinstance(node, exp.Table):
            return _renamed(node, self._read(node, scope))
        if isinstance(node, exp.Values):
            return self._values(node, scope)
        # Only what stands behind LATERAL knows the tables beside it.
        return _renamed(node, self.columns(node, scope.around or Scope()))

    def _read(self, node: exp.Table, scope: Scope) -> Columns:
        """The columns of a table, of rows that are here, or of a query of WITH."""
        if not isinstance(node.this, exp.Identifier):
            return self._function(node, scope)
        relation = self.resolved.relations.get(node.name)
        if relation is not None:
            return [(column.name, plain(column.type)) for column in relation.fields()]
        if node.name in self.resolved.bound:
            schema = self.resolved.bound[node.name].schema
            known = {name: plain(kind) for name, kind in declared_types(schema)}
            return [(part.name, known.get(part.name) or type_of_arrow(part)) for part in schema]
        found = scope.table(node.name)
        if found is None:
            raise refusals.error_at(
                self.typing.source, node, f"'{node.name}' is not in FROM", "Name it there, or leave it out here."
            )
        return found

    def _function(self, node: exp.Table, scope: Scope) -> Columns:
        """A function in the place of a table."""
        call = node.this
        name = call.name.lower() if isinstance(call, exp.Anonymous) else call.key
        if name == "range" and isinstance(call, exp.Anonymous):
            given = [self.typing.in_type(self.typing.value(each, scope), kinds.BIGINT) for each in call.expressions]
            node.set("this", exp.Anonymous(this="range", expressions=given))
            alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier("range"))
            if not alias.columns:
                alias.set("columns", [exp.to_identifier("id")])
            node.set("alias", alias)
            return [(alias.columns[0].name, kinds.BIGINT)]
        if name_of(call) and not self.typing.is_flink:
            rows = rows_of(self.typing, call, scope.around or Scope())
            made = _selected(rows)
            made.set("alias", node.args.get("alias"))
            node.replace(made)
            return [(column, value.kind) for column, value in rows]
        raise refusals.unknown_function(self.typing.source, call, name, [])

    def _lateral(self, node: exp.Lateral, scope: Scope) -> None:
        inner = node.this
        alias = node.args.get("alias")
        if isinstance(inner, exp.Subquery):
            columns = self.columns(inner, scope)
        else:
            rows = rows_of(self.typing, inner, scope) if name_of(inner) else None
            if rows is None:
                raise refusals.unsupported(self.typing.source, inner, "this function behind LATERAL")
            node.set("this", _selected(rows))
            columns = [(name, value.kind) for name, value in rows]
        scope.sources[alias.name.lower() if alias is not None else f"{_UNNAMED}{len(scope.sources)}"] = _renamed(
            node, columns
        )

    def _refuse_totals(self, node: exp.Lateral) -> None:
        """Raises: SqlError: aggregates of what a row finds, where Flink drops rows that find nothing."""
        inner = node.this.unnest() if isinstance(node.this, exp.Subquery) else None
        if not isinstance(inner, exp.Select) or inner.args.get("group") is not None:
            return
        for call in (found for output in inner.expressions for found in output.find_all(exp.Func)):
            if is_many(call) and not isinstance(call.find_ancestor(exp.Window, exp.Select), exp.Window):
                what, fix = "an aggregate without GROUP BY behind LATERAL", "Write LEFT JOIN LATERAL (…) ON TRUE."
                raise refusals.unsupported(self.typing.source, call, what, fix)

    def _view(self, select: exp.Select, lateral: exp.Lateral, scope: Scope) -> None:
        """LATERAL VIEW."""
        select.append("joins", self._generated_view(lateral, scope))

    def _generated_view(self, lateral: exp.Lateral, scope: Scope) -> exp.Join:
        inner = lateral.this
        if not name_of(inner):
            raise refusals.unsupported(self.typing.source, inner, "this function in LATERAL VIEW")
        rows = rows_of(self.typing, inner, scope, is_outer=bool(lateral.args.get("outer")))
        alias = lateral.args.get("alias") or exp.TableAlias()
        given = [name.name for name in alias.columns]
        if given and len(given) != len(rows):
            problem = f"{name_of(inner)} gives {len(rows)} columns"
            raise refusals.error_at(self.typing.source, inner, problem, "Give as many names and values.")
        names = given or [name for name, _ in rows]
        named = [(name, value) for name, (_, value) in zip(names, rows, strict=True)]
        alias.set("columns", [exp.to_identifier(name, quoted=True) for name in names])
        if alias.this is None and not given:
            raise refusals.error_at(self.typing.source, inner, "LATERAL VIEW has no name", "Write one behind the call.")
        if alias.this is None:  # its columns have names
            alias.set("this", exp.to_identifier(f"{_UNNAMED}{len(scope.sources)}", quoted=True))
        scope.sources[alias.name.lower()] = [(name, value.kind) for name, value in named]
        return exp.Join(this=exp.Lateral(this=_selected(named), alias=alias), kind="CROSS")

    def _unnest(self, node: exp.Unnest, scope: Scope) -> None:
        """UNNEST, which gives a column for each part of rows and maps."""
        value = self.typing.value(node.expressions[0], scope)
        lists = unnested(value)
        if lists is None or len(node.expressions) != 1:
            raise refusals.no_such_types(self.typing.source, node, "unnest", [value.kind])
        if node.args.get("offset"):
            lists = with_places(lists, value)
        alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(f"paimon_rows_{len(scope.sources)}"))
        given = [name.name for name in alias.columns]
        if self.typing.is_flink and not given and len(lists) == 1:
            # The name of the table is that of a column without a name.
            given = [alias.name if node.args.get("alias") else "EXPR$0"]
        elif self.typing.is_flink and not given and value.kind.root == "MAP":
            given = ["KEY", "VALUE"]
        offset = node.args.get("offset")
        if isinstance(offset, exp.Identifier) and len(given) == len(lists) - 1:
            given = [*given, offset.name]
        names = [given[number] if number < len(given) else name for number, (name, _, _) in enumerate(lists)]
        rows = [
            (name, Typed(exp.Anonymous(this="unnest", expressions=[listed]), kind, node))
            for name, (_, listed, kind) in zip(names, lists, strict=True)
        ]
        alias.set("columns", [exp.to_identifier(name, quoted=True) for name in names])
        node.replace(exp.Lateral(this=_selected(rows), alias=alias))
        scope.sources[alias.name.lower()] = [(name, value.kind) for name, value in rows]

    # Several queries

    def _united(self, node: exp.SetOperation, scope: Scope) -> Columns:
        sides = [self.columns(node.this, scope), self.columns(node.expression, scope)]
        if len(sides[0]) != len(sides[1]):
            problem, fix = "the sides have different numbers of columns", "Select as many."
            raise refusals.error_at(self.typing.source, node, problem, fix)
        wanted: list[DataType] = []
        for (name, one), (_, other) in zip(*sides, strict=True):
            kind = kinds.widest_of_two(one, other, is_flink=self.typing.is_flink)
            if kind is None:
                problem = f"column '{name}' is {kinds.shown(one)} on one side, and {kinds.shown(other)} on the other"
                raise refusals.error_at(self.typing.source, node, problem, "Cast one of them.")
            wanted.append((kinds.first_of([one, other], kind) or kind) if self.typing.is_flink else kind)
        self._alike(node, sides, wanted)
        return [(name, kind) for (name, _), kind in zip(sides[0], wanted, strict=True)]

    def _alike(self, node: exp.SetOperation, sides: Sequence[Columns], wanted: Sequence[DataType]) -> None:
        """Give both sides these types. Where rows are compared, zeros of Spark have no sign."""
        is_compared = not self.typing.is_flink and (not isinstance(node, exp.Union) or bool(node.args.get("distinct")))
        is_signless = is_compared and any(map(zeros.has_signs, wanted))
        # To Flink no NaN is the same as another: INTERSECT finds none, and EXCEPT takes none away.
        floats = [number for number, kind in enumerate(wanted) if kind.root in ("FLOAT", "DOUBLE")]
        without = {exp.Intersect: "this", exp.Except: "expression"}.get(type(node)) if self.typing.is_flink else None
        for key, columns in zip(("this", "expression"), sides, strict=True):
            no_nan = floats if key == without else ()
            if no_nan or is_signless or [kind for _, kind in columns] != list(wanted):
                made = self._retyped(node.args[key], columns, wanted, is_signless=is_signless, no_nan=no_nan)
                node.set(key, made)

    def _retyped(
        self,
        query: exp.Expr,
        columns: Columns,
        wanted: Sequence[DataType],
        *,
        is_signless: bool,
        no_nan: Sequence[int] = (),
    ) -> exp.Expr:
        """A query whose columns have other types. `no_nan`: the places of columns without rows that have a NaN."""
        names = [exp.to_identifier(f"column_{number}") for number in range(len(columns))]
        outputs: list[exp.Expr] = []
        for (name, kind), target, column in zip(columns, wanted, names, strict=True):
            value = Typed(exp.column(column.copy()), kind, query)
            made = converted(value, Wanted(target, self.typing.is_flink))
            if made is None:
                raise refusals.error_at(
                    self.typing.source, query, f"column '{name}' cannot be {kinds.shown(target)}", "Cast it."
                )
            made = zeros.unsigned(made, target) if is_signless else made
            outputs.append(exp.alias_(made, name or column.name, quoted=True))
        inner = query if isinstance(query, exp.Subquery) and not query.alias else exp.Subquery(this=query)
        inner.set("alias", exp.TableAlias(this=exp.to_identifier("paimon_side"), columns=names))
        made = exp.select(*outputs).from_(inner)
        return made.where(*(filled("isnan(a) IS NOT TRUE", {"a": exp.column(names[place].copy())}) for place in no_nan))

    def _values(self, node: exp.Values, scope: Scope) -> Columns:
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        typed = [[self.typing.value(cell, scope) for cell in row] for row in rows]
        if len({len(row) for row in typed}) > 1:
            raise refusals.error_at(
                self.typing.source, node, "the rows have different numbers of values", "Give each as many."
            )
        columns = [self.typing.common(column, node) for column in zip(*typed, strict=True)]
        node.set(
            "expressions",
            [exp.Tuple(expressions=list(row)) for row in zip(*(cells for _, cells in columns), strict=True)],
        )
        alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier("paimon_values"))
        prefix, first = ("EXPR$", 0) if self.typing.is_flink else ("col", 1)
        if not alias.columns:
            alias.set("columns", [exp.to_identifier(f"{prefix}{n + first}", quoted=True) for n in range(len(columns))])
        if node.parent is not None and not isinstance(node.parent, exp.Subquery | exp.CTE | exp.SetOperation):
            node.set("alias", alias)
        cells = [[cell for cell in column if cell.kind != NULL] for column in zip(*typed, strict=True)]
        node.meta[_DECLARED] = [
            (name.name, common_length(column)) for name, column in zip(alias.columns, cells, strict=False)
        ]
        return [(name.name, kind) for name, (kind, _) in zip(alias.columns, columns, strict=False)]


def _selected(rows: Sequence[tuple[str, Typed]]) -> exp.Subquery:
    return exp.Subquery(this=exp.select(*(exp.alias_(value.node, name, quoted=True) for name, value in rows)))


def _has_map(kind: DataType) -> bool:
    return any(part.root == "MAP" for part in kind.walk())


def _name_outputs_in_having(select: exp.Select, scope: Scope) -> None:
    """In HAVING a name of Spark's is that of an output, unless the rows are grouped by the column of that name."""
    having, group = select.args.get("having"), select.args.get("group")
    if having is None:
        return
    listed = [] if group is None else [key.unnest() for key in group.expressions]
    keys = {key.name.lower() for key in listed if isinstance(key, exp.Column)}
    for column in _bare_columns(having):
        name = column.name.lower()
        if not column.table and name in scope.outputs and name not in keys:
            column.meta[OF_OUTPUT] = scope.outputs[name]


def _bare_columns(tree: exp.Expr) -> Iterator[exp.Column]:
    """The columns that stand in no aggregate, window or subquery."""
    for column in tree.find_all(exp.Column):
        around: exp.Expr = column
        while (
            around is not tree and around.parent is not None and not (isinstance(around, exp.Query) or _gathers(around))
        ):
            around = around.parent
        if around is tree and not _gathers(tree):
            yield column


def _gathers(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window) or (isinstance(node, exp.Func) and is_many(node))


def _and(having: exp.Having | None) -> exp.Having:
    """A condition that a group has rows, in front of another one."""
    there = exp.GT(this=exp.Anonymous(this="count", expressions=[exp.Star()]), expression=exp.Literal.number(0))
    return exp.Having(this=there if having is None else exp.And(this=there, expression=exp.paren(having.this)))


_RANKS = ("rank", "dense_rank", "percent_rank", "row_number", "ntile", "lag", "lead")


def _name(window: exp.Window) -> str:
    return str(window.this.this).lower() if isinstance(window.this, exp.Anonymous) else ""


def _is_given(key: exp.Expr, select: exp.Select) -> bool:
    """Whether a query gives what it orders by: a column of its outputs, one of them as it stands, or any of a star."""
    by = key.this if isinstance(key, exp.Ordered) else key
    if isinstance(by, exp.Literal | exp.Var) or select.is_star:
        return True
    names = {output.output_name.lower() for output in select.expressions}
    written = {output.unalias().sql().lower() for output in select.expressions}
    return all(
        part.sql().lower() in written or (isinstance(part, exp.Column) and part.name.lower() in names)
        for part in ([by] if by.sql().lower() in written else by.find_all(exp.Column))
    )


def _of_one_name_each(outputs: list[exp.Expr], given: list[Columns]) -> tuple[list[exp.Expr], list[Columns]]:
    """The outputs, of which those of a name that is there already get a number behind it, as in Flink."""
    names = [name for own in given for name, _ in own]
    if len(set(names)) == len(names) or any(output.is_star for output in outputs):
        return outputs, given
    made = unique_names(names)
    aliased = [
        output if own == name else exp.alias_(output.unalias(), name, quoted=True)
        for output, own, name in zip(outputs, names, made, strict=True)
    ]
    return aliased, [[(name, kind)] for name, ((_, kind),) in zip(made, given, strict=True)]


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, those that are there already with a number behind them. Source: Calcite's `SqlValidatorUtil`."""
    used = dict[str, None]()
    for name in names:
        tried = itertools.chain([name], (f"{name}{number}" for number in itertools.count()))
        used[next(each for each in tried if each not in used)] = None
    return list(used)


def _number_keys(select: exp.Select, group: exp.Expr) -> None:
    """Give ``grouping_id()`` its arguments, which are all keys in Spark."""
    if not any(isinstance(node, exp.Anonymous) and node.name.lower() == "grouping_id" for node in select.walk()):
        return
    around = exp.Tuple | exp.Paren | exp.GroupingSets | exp.Cube | exp.Rollup
    keys: dict[str, exp.Expr] = {}
    waiting = list(group.expressions)
    while waiting:
        key = waiting.pop(0)
        if isinstance(key, around):
            waiting = [*key.iter_expressions(), *waiting]
        else:
            keys.setdefault(key.sql(), key)
    for call in list(select.find_all(exp.Anonymous)):
        if call.name.lower() == "grouping_id" and not call.expressions and call.parent_select is select:
            call.set("expressions", [key.copy() for key in keys.values()])


def _each_of_all(node: exp.Expr, count: int) -> list[exp.Expr]:
    """What stands for ALL in ORDER BY: the places of all columns."""
    if not (isinstance(node, exp.Ordered) and isinstance(node.this, exp.Var) and node.this.name.upper() == "ALL"):
        return [node]
    args = {name: value for name, value in node.args.items() if name != "this"}
    return [exp.Ordered(this=exp.Literal.number(number + 1), **args) for number in range(count)]


def _row_before_star(output: exp.Expr, scope: Scope) -> exp.Expr | None:
    """What stands before the star of an output, if that is no table."""
    if isinstance(output, exp.Dot) and isinstance(output.expression, exp.Star):
        return cast(exp.Expr, output.this)
    if not isinstance(output, exp.Column) or not isinstance(output.this, exp.Star):
        return None
    parts = output.parts[:-1]
    if len(parts) == 1 and (parts[0].name.lower() in scope.sources or not scope.find([parts[0].name])):
        return None
    return exp.Column(this=parts[-1].copy(), table=parts[-2].copy() if len(parts) > 1 else None)


def _is_in_parentheses(node: exp.Expr) -> bool:
    """Whether it is tables in parentheses, whose names are known outside of them."""
    inner = node.unnest() if isinstance(node, exp.Subquery) else node
    return isinstance(node, exp.Subquery) and isinstance(inner, exp.Table) and not node.alias


def _shown_of(scope: Scope, known: Set[str]) -> list[Shown]:
    """The columns of all sources that are not known yet."""
    return [
        (name, exp.column(name, table=None if source.startswith(_UNNAMED) else source, quoted=True))
        for source, columns in scope.sources.items()
        if source not in known
        for name, _ in columns
    ]


def _is_of(shown: Shown, star: exp.Expr) -> bool:
    """Whether a column is of the table in front of a star."""
    column = shown[1]
    return isinstance(column, exp.Column) and column.table.lower() == star.text("table").lower()


def _of_either(left: exp.Expr, right: exp.Expr, side: str) -> exp.Expr:
    """A column that both sides of a join have. `side`: LEFT, RIGHT, FULL or none."""
    if side == "FULL":
        return exp.Coalesce(this=left.copy(), expressions=[right.copy()])
    return right if side == "RIGHT" else left


def _left_out(star: exp.Expr) -> set[str]:
    return {name.name.lower() for name in star.args.get("except_") or star.args.get("except") or ()}


def _is_place(node: exp.Expr) -> bool:
    """Whether a part of GROUP BY or ORDER BY is the number of an output, or ALL."""
    inner = node.this if isinstance(node, exp.Ordered) else node
    is_all = isinstance(inner, exp.Column) and inner.name.upper() == "ALL" and not inner.this.quoted
    return (isinstance(inner, exp.Literal) and not inner.is_string) or is_all


def _alone(key: exp.Expr) -> str | None:
    """The name without a table that is all of a key of ORDER BY, in lower case."""
    column = key.this if isinstance(key, exp.Ordered) else key
    return column.name.lower() if isinstance(column, exp.Column) and not column.table else None


_DECLARED = "paimon_declared"
"""Under this key a SELECT has the types of its columns as they are declared, in `meta`."""


def _declared_of(node: exp.Expr, scope: Scope) -> Declared:
    """The columns of a query, or of one of WITH, as far as they are declared."""
    if isinstance(node, exp.Values):
        of_cells: Declared = node.meta.get(_DECLARED, ())
        return of_cells
    if isinstance(node, exp.Table):
        return scope.declared_table(node.name)
    query = node.this
    while isinstance(query, exp.Subquery):
        query = query.this
    if isinstance(query, exp.Table):
        return _renamed(query, scope.declared_table(query.name))
    return query.meta.get(_DECLARED, ()) if isinstance(query, exp.Select | exp.Values) else ()


_Type = TypeVar("_Type", bound=DataType | None)


def _renamed(node: exp.Expr, columns: Sequence[tuple[str, _Type]]) -> Sequence[tuple[str, _Type]]:
    """The columns under the names that an alias gives them."""
    alias = node.args.get("alias")
    given = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
    return [(given[number] if number < len(given) else own, kind) for number, (own, kind) in enumerate(columns)]


def type_of_arrow(part: "object") -> DataType:
    """The type of rows that are bound, as DuckDB gets them."""
    kind = part.type  # type: ignore[attr-defined]
    if is_carried(kind):
        return DataType("TIMESTAMP_LTZ" if kind.field(0).type.tz else "TIMESTAMP", precision=9)
    try:
        return plain(data_type_of_arrow(kind))
    except UnsupportedError:
        return NULL
