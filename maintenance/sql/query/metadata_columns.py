"""Columns that tables have only for who names them, not for a star: Spark's metadata columns, and those that system
tables have in other releases of Paimon.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from maintenance.sql.query.relations import Readable, Relation, own_alias
from maintenance.table.system.metadata_columns import FILE_PATH, METADATA_COLUMNS, MetadataView, metadata_fields
from maintenance.table.system.view import SystemTableView
from maintenance.table.table import Table


def show_metadata(tree: exp.Expr, relations: Mapping[str, Relation], *, of_rows: bool) -> None:
    """Give the tables of a query the columns that it names and a star leaves out.

    `of_rows`: Spark's metadata columns, too.
    """
    if of_rows:
        _name_files(tree, relations)
    mentioned = {node.name for node in tree.find_all(exp.Identifier)}
    shown: dict[str, list[str]] = {}
    for relation in relations.values():
        view = _with_all(relation.view, mentioned if of_rows else mentioned - METADATA_COLUMNS)
        if view is not None:
            shown[relation.name] = [field.name for field in relation.fields()]
            relation.show(view)
    if not shown:
        return
    for select in list(tree.find_all(exp.Select)):
        _spread_stars(select, shown)


def _name_files(tree: exp.Expr, relations: Mapping[str, Relation]) -> None:
    """``input_file_name()`` of a query that reads one table is the path of the file that a row lies in."""
    for node in list(tree.find_all(exp.Anonymous)):
        select = node.find_ancestor(exp.Select)
        if node.name.lower() != "input_file_name" or node.expressions or select is None or select.args.get("joins"):
            continue
        source = select.args.get("from_") or select.args.get("from")
        table = None if source is None else source.this
        if isinstance(table, exp.Table) and table.name in relations and isinstance(relations[table.name].view, Table):
            path: exp.Expr = exp.column(FILE_PATH.name, table=own_alias(table), quoted=True)
            is_output = node.parent is select and node.arg_key == "expressions"
            node.replace(exp.alias_(path, "input_file_name()", quoted=True) if is_output else path)


def _with_all(view: Readable, mentioned: set[str]) -> Readable | None:
    """A table with the columns that it hides, None if none of them is mentioned."""
    if isinstance(view, Table) and mentioned & METADATA_COLUMNS & {field.name for field in metadata_fields(view)}:
        return MetadataView(view)
    if isinstance(view, SystemTableView) and mentioned & {field.name for field in view.system.hidden}:
        return replace(view, system=view.system.with_hidden())
    return None


def rows_with_metadata(source: exp.Expr, parts: Iterable[exp.Expr | None]) -> exp.Select:
    """The query of a source's rows, and of those metadata columns that other parts of the statement name of it.

    A star leaves them out. Where they stand in a part, they stand here too, for errors that name the place.
    """
    alias = source.alias_or_name
    named: dict[str, exp.Expr] = {}
    for part in parts:
        for column in part.find_all(exp.Column) if part is not None else ():
            if column.name in METADATA_COLUMNS and column.table.lower() == alias.lower():
                named.setdefault(column.name, exp.column(column.this.copy(), exp.to_identifier(alias, quoted=True)))
    return exp.select(exp.Star(), *named.values()).from_(source.copy())


def _spread_stars(select: exp.Select, shown: Mapping[str, Sequence[str]]) -> None:
    """Name the columns of tables that stars stand for."""
    source = select.args.get("from_") or select.args.get("from")
    nodes = [] if source is None else [source.this, *(join.this for join in select.args.get("joins") or ())]
    if not any(isinstance(node, exp.Table) and node.name in shown for node in nodes):
        return
    outputs: list[exp.Expr] = []
    for output in select.expressions:
        if isinstance(output, exp.Star) and not any(output.args.values()):
            outputs += [column for node in nodes for column in _columns(node, shown)]
        elif isinstance(output, exp.Column) and isinstance(output.this, exp.Star):
            own = [node for node in nodes if node.alias_or_name.lower() == output.table.lower()]
            # Without a table of the name it stands for the fields of a row.
            outputs += [column for node in own for column in _columns(node, shown)] or [output]
        else:
            outputs.append(output)
    select.set("expressions", outputs)


def _columns(node: exp.Expr, shown: Mapping[str, Sequence[str]]) -> list[exp.Expr]:
    alias = own_alias(node) if isinstance(node, exp.Table) else node.alias_or_name
    if isinstance(node, exp.Table) and node.name in shown:
        return [exp.column(name, table=alias, quoted=True) for name in shown[node.name]]
    return [exp.Column(this=exp.Star(), table=exp.to_identifier(alias, quoted=True))]
