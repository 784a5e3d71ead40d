"""What a query says of single tables: conditions that skip partitions and files, and the rows needed at most.

The engine that runs the query checks every condition again, so only what is surely implied by it matters here: the
conditions in WHERE, joined by AND, of one table and literals. The side of an outer join that may be padded with nulls
gets none.
"""

from collections.abc import Collection, Mapping, Sequence

from sqlglot import exp

from maintenance.sql.dialects import Flink
from maintenance.sql.expressions.table import is_many
from maintenance.sql.query.computed import RELATION
from maintenance.sql.query.relations import Relation
from maintenance.sql.query.resolve import Resolved
from maintenance.sql.query.zoned import with_instants


def push_down(resolved: Resolved) -> None:
    """Give each relation what the query says of it."""
    tree, relations = resolved.tree, resolved.relations
    mentioned = frozenset(node.name.lower() for node in tree.find_all(exp.Identifier))
    starred = any(_gives_columns(star) for star in tree.find_all(exp.Star))
    starred |= any(join.method.upper() == "NATURAL" for join in tree.find_all(exp.Join))
    # TABLE t has columns that no SELECT names; t AS x (a, b) counts them.
    tables = list(tree.find_all(exp.Table))
    starred |= any(isinstance(table.parent, exp.Query) or bool(table.alias_column_names) for table in tables)
    for relation in relations.values():
        columns = frozenset(f.name.lower() for f in relation.fields())
        relation.mentioned = columns if starred else columns & mentioned
    for select in tree.find_all(exp.Select):
        _select(select, resolved)


def _gives_columns(star: exp.Star) -> bool:
    """Whether a star stands for columns: not in COUNT(*) and EXISTS (SELECT * …)."""
    place = star.parent
    if isinstance(place, exp.Select) and place.parent is not None:
        place = place.parent.unnest().parent if isinstance(place.parent, exp.Subquery) else place.parent
    is_count = isinstance(place, exp.Anonymous) and place.name.lower() == "count"
    return not is_count and not isinstance(place, exp.Count | exp.Exists)


def _select(select: exp.Select, resolved: Resolved) -> None:
    relations = resolved.relations
    source = select.args.get("from_") or select.args.get("from")
    if source is None:
        return
    joins: Sequence[exp.Join] = select.args.get("joins") or ()
    tables = _kept_tables(source.this, joins, relations)
    where = select.args.get("where")
    if where is not None:
        for condition in _conjuncts(where.this):
            _condition(condition, tables, resolved, alone=not joins)
    elif not joins and isinstance(source.this, exp.Table) and source.this.name in relations:
        relations[source.this.name].limit = _limit(select)


def _kept_tables(first: exp.Expr, joins: Sequence[exp.Join], relations: Mapping[str, Relation]) -> dict[str, Relation]:
    """The relations whose rows no join pads with nulls, by the name that their columns may have in front."""
    nodes: list[exp.Expr] = [first]
    for join in joins:
        side = (join.side or "").upper()
        if side in ("RIGHT", "FULL"):
            nodes = [join.this] if side == "RIGHT" else []
        elif side != "LEFT" and (join.kind or "").upper() not in ("SEMI", "ANTI"):
            nodes.append(join.this)
    named = ((_relation_of(node), node) for node in nodes)
    return {node.alias_or_name.lower(): relations[name] for name, node in named if name in relations}


def _relation_of(node: exp.Expr) -> str:
    """The name of the relation that a node reads, blank if it is none. A table with computed columns is a query."""
    if isinstance(node, exp.Table):
        return node.name
    return str(node.meta.get(RELATION, "")) if isinstance(node, exp.Subquery) else ""


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    node = node.unnest()
    return (
        [part for side in (node.left, node.right) for part in _conjuncts(side)] if isinstance(node, exp.And) else [node]
    )


def _condition(condition: exp.Expr, tables: Mapping[str, Relation], resolved: Resolved, *, alone: bool) -> None:
    columns = list(condition.find_all(exp.Column))
    owners = {column.table.lower() for column in columns}
    if len(owners) != 1 or any(True for _ in condition.find_all(exp.Query)):
        return
    owner = owners.pop()
    relation = tables.get(owner) if owner else next(iter(tables.values()), None) if alone else None
    if relation is None:
        return
    plain = condition.copy()
    for column in plain.find_all(exp.Column):
        column.set("table", None)
    if _casts_texts(plain, relation):
        return
    zoned = with_instants(plain, relation.fields(), resolved.zone, is_flink=resolved.source.dialect is Flink)
    if zoned is None:
        return
    text = zoned.sql("spark", copy=False)
    if relation.understands(text):
        relation.where.append(text)


def _casts_texts(condition: exp.Expr, relation: Relation) -> bool:
    """Whether a column of texts is compared with something else, which makes it a number or a time first."""
    texts = {column.name.lower() for column in relation.fields() if column.type.is_string}
    if not any(column.name.lower() in texts for column in condition.find_all(exp.Column)):
        return False
    for node in condition.find_all(exp.Binary, exp.Between, exp.In):
        operands = [part for part in node.iter_expressions() if not isinstance(part, exp.Binary | exp.Between | exp.In)]
        is_text = [_is_text(part.unnest(), texts) for part in operands]
        if any(is_text) and not all(is_text):
            return True
    return False


def _is_text(node: exp.Expr, texts: Collection[str]) -> bool:
    if isinstance(node, exp.Column):
        return node.name.lower() in texts
    return isinstance(node, exp.Null) or (isinstance(node, exp.Literal) and node.is_string)


def _limit(select: exp.Select) -> int | None:
    """How many rows of its only table a query without conditions needs."""
    limit = select.args.get("limit")
    others = ("group", "having", "order", "distinct", "windows", "qualify", "offset", "laterals", "sample", "sort")
    if limit is None or any(select.args.get(name) for name in others):
        return None
    found = [each for e in select.expressions for each in e.find_all(exp.Func, exp.Window, exp.Unnest, exp.Query)]
    if any(not isinstance(each, exp.Func) or is_many(each) for each in found):
        return None
    value = limit.expression
    return int(value.name) if isinstance(value, exp.Literal) and value.name.isdigit() else None
