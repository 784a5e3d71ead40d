"""A tables.yaml in Airflow: the tables that it is about, and what it says of one."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from maintenance.catalog import Catalog, CatalogTable, open_catalog
from maintenance.errors import NotFoundError, PaimonError
from maintenance.metastore.warehouse import known_folder
from maintenance.project.catalog_options import catalog_options
from maintenance.project.chain import create_described
from maintenance.project.config import Project, TableConfig, load_project

_READERS = 16


def project_of(path: str) -> Project:
    """What the file says. Raises: OptionError, with the line of the mistake."""
    return load_project(Path(path))


def found_tables(path: str, project: Project) -> Project:
    """The project with the tables of the catalog that its patterns match, and with what their schemas say.

    The catalog is asked only where there are patterns, or tables that are not described column by column.
    """
    if not project.patterns and all(table.columns for table in project.tables):
        return project
    catalog = open_catalog(catalog_options(Path(path)))
    wanted = [pattern.database for pattern in project.patterns]
    databases = [name for name in catalog.list_databases() if any(fnmatchcase(name, one) for one in wanted)]
    names = [f"{database}.{table}" for database in databases for table in catalog.list_tables(database)]
    whole = project.with_patterns(names)
    with ThreadPoolExecutor(_READERS) as pool:
        tables = tuple(pool.map(partial(_known, catalog), whole.tables))
    return whole.model_copy(update={"tables": tables})


def _known(catalog: Catalog, described: TableConfig) -> TableConfig:
    """A table with what the catalog holds of it. One that is missing or cannot be read must not hide the others."""
    try:
        table = catalog.get_table(described.identifier)
    except PaimonError:
        return described
    return described.with_found(table.location, table.schema) if isinstance(table, CatalogTable) else described


def described_table(project: Project, identifier: str, catalog: Catalog) -> TableConfig:
    """What the file says of a table, with what the catalog holds of it. Raises: NotFoundError: as of `entry_of`."""
    return _known(catalog, entry_of(project, identifier))


def entry_of(project: Project, identifier: str) -> TableConfig:
    """What the file alone says of a table. Raises: NotFoundError: nothing."""
    found = project.table(identifier)
    if found is None:
        raise NotFoundError(
            f"no entry or pattern is about '{identifier}'", str(project.path), "Write one, or remove its DAG."
        )
    return found


def opened(catalog: Catalog, described: TableConfig, operation: str) -> CatalogTable:
    """The table; an ingestion makes it if it is not there. Raises: NotFoundError."""
    if operation == "ingest_landed" and described.columns:
        create_described(catalog, described)
    return catalog.get_table(described.identifier)


def engine_of(project: Project) -> str | None:
    """What does the work, if the file says it."""
    if not {"engine", "master", "remote"} & project.spark.model_fields_set:
        return None
    chosen = project.spark.chosen
    return chosen.address or chosen.kind.value


def known_root(catalog: Catalog) -> Callable[[], str]:
    """What says where the warehouse is, once it is asked."""
    return partial(known_folder, catalog)
