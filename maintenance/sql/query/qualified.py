"""The text of a query with every table under its full name, so that it means the same from anywhere."""

from typing import TYPE_CHECKING

from sqlglot import exp

from maintenance.sql.cursor import Source
from maintenance.sql.query.resolve import is_of_with

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


def qualified_text(session: "SessionState", tree: exp.Expr, source: Source, span: tuple[int, int]) -> str:
    """The text between two offsets, which `tree` was read from. Only names of tables change."""
    places: list[tuple[int, int, str]] = []
    for node in tree.find_all(exp.Table):
        if not isinstance(node.this, exp.Identifier) or is_of_with(node):
            continue
        parts = node.parts
        name = session.table_name(tuple(part.name for part in parts))
        full = ".".join("`" + part.replace("`", "``") + "`" for part in (name.catalog, name.database, name.table))
        alias = "" if node.alias or node.args.get("version") is not None else f" AS `{node.name.replace('`', '``')}`"
        places.append((parts[0].meta["start"], parts[-1].meta["end"], full + alias))
    text, position = "", span[0]
    for start, end, full in sorted(places):
        text += source.text[position:start] + full
        position = end + 1
    return text + source.text[position : span[1] + 1]
