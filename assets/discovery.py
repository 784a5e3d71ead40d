"""Which tables there are: those described, and those of the catalog that a pattern matches.

The catalog is asked when the code location is loaded: a new table appears with the next reload. Of a table that is not
described column by column, the schema says which steps apply to it.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase

import dagster as dg

from assets.config import FoundTable, Project, TableConfig
from assets.resources import PaimonCatalog
from maintenance.errors import NotFoundError, PaimonError

_READERS = 32
_NAME = re.compile(r"\w+\.\w+", re.ASCII)


def discover(project: Project, catalog: PaimonCatalog) -> Project:
    """The project with every table it is about, each with what the patterns and its schema say of it.

    A table that cannot be read stays as it is described, with a warning: it must not hide the others. Raises: what goes
    wrong when the catalog is listed.
    """
    whole = project.with_patterns(_found(project, catalog))
    with ThreadPoolExecutor(_READERS) as pool:
        tables = tuple(pool.map(lambda table: _known(table, catalog), whole.tables))
    return whole.model_copy(update={"tables": tables})


def _found(project: Project, catalog: PaimonCatalog) -> list[str]:
    wanted = [pattern.pattern.partition(".")[0] for pattern in project.patterns]
    if not wanted:
        return []
    opened = catalog.open()
    databases = [name for name in opened.list_databases() if any(fnmatchcase(name, part) for part in wanted)]
    names = [f"{database}.{table}" for database in databases for table in opened.list_tables(database)]
    odd = [name for name in names if not _NAME.fullmatch(name)]
    if odd:
        dg.get_dagster_logger().warning(f"Left out, since only letters, digits and _ make names in Dagster: {odd}")
    return [name for name in names if _NAME.fullmatch(name)]


def _known(described: TableConfig, catalog: PaimonCatalog) -> TableConfig:
    """The table with what its page shows, and its keys and options where it is not created by this project."""
    try:
        table = catalog.get_table(described.identifier)
    except NotFoundError:
        return described  # it will be there with a later reload
    except PaimonError as error:
        dg.get_dagster_logger().warning(f"{described.identifier} cannot be read: {error}")
        return described
    schema = table.schema
    found = FoundTable(table.location, tuple(schema.fields), schema.comment or None)
    if described.columns:
        return described.model_copy(update={"found": found})
    facts = {
        "found": found,
        "primary_keys": tuple(schema.primary_keys),
        "partition_keys": tuple(schema.partition_keys),
        "options": {**described.options, **schema.options},
    }
    return described.model_copy(update=facts)
