"""The table that a migration has made takes the name of its source, which is gone by then.

Until then it has the name that Paimon gives it, too: that of the source with `_paimon_` behind. A run that died between
the two steps is finished by the next one. Source: Java `HiveMigrator.renameTable`.
"""

from maintenance.errors import ConflictError, NotFoundError, PaimonError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.plain.files import PlainFiles
from maintenance.metastore.catalog import Catalog
from maintenance.operations.databases.migrated_files import migrated_name
from maintenance.table.table import Table

MIGRATED_FROM, MIGRATED_LOCATION = "paimon-maintenance.migrated-from", "paimon-maintenance.migrated-location"
_SUFFIX = "_paimon_"


def waiting_name(source: str) -> str:
    """The name of the new table while its source is there."""
    return f"{source}{_SUFFIX}"


def source_of(waiting: str) -> str | None:
    """The source of a table with such a name; None if it has another name."""
    return waiting.removesuffix(_SUFFIX) if waiting.endswith(_SUFFIX) else None


def is_migrated(snapshot: Snapshot, source: str) -> bool:
    """Whether a migration of the source has committed the snapshot."""
    return (snapshot.properties or {}).get(MIGRATED_FROM) == source


def waiting_table(catalog: Catalog, source: str) -> Table | None:
    """The table that waits for its source's name; None if the source is there, or was never migrated."""
    try:
        catalog.get_table(source)
        return None
    except NotFoundError:
        pass
    try:
        table = catalog.get_table(waiting_name(source))
    except NotFoundError:
        return None
    newest = table.latest_snapshot() if isinstance(table, Table) else None
    return table if isinstance(table, Table) and newest is not None and is_migrated(newest, source) else None


def take_over(catalog: Catalog, source: str) -> None:
    """Give the table that waits the name of its source. Raises: ConflictError: files of others are in its place."""
    table = waiting_table(catalog, source)
    if table is None:
        raise NotFoundError(
            f"no table waits for the name '{source}'", catalog.warehouse, "Run migrate_table on the source first."
        )
    _clear_place(table, source)
    catalog.rename_table(waiting_name(source), source)


def _clear_place(table: Table, source: str) -> None:
    """Delete what a source that was dropped by halves has left where the new table goes. The new table has it all.

    An external source lies elsewhere, and its files stay.
    """
    newest = table.latest_snapshot()
    location = None if newest is None else (newest.properties or {}).get(MIGRATED_LOCATION)
    place = f"{table.location.rstrip('/').rpartition('/')[0]}/{source.partition('.')[2]}"
    if newest is None or location != place or not table.file_io.folder_exists(place):
        return
    live = {entry.file.file_name for entry in table.manifests.live_entries(newest)}
    suffix = table.model.file_format
    left = [file for file in table.file_io.list_tree(place) if not _is_hidden(file.path, table)]
    unknown = [f.path for f in left if f.size and migrated_name(place, f.path, f.size, suffix) not in live]
    others = [path for path in unknown if _has_rows(table, f"{place}/{path}", suffix)]
    if others:
        raise ConflictError(
            f"{len(others)} files are in the place of the source that the new table does not have: {others[0]}",
            place,
            f"Move them away, or rename {table.identifier} yourself.",
        )
    table.file_io.delete_folder(place)


def _has_rows(table: Table, path: str, suffix: str) -> bool:
    """Whether a file is more than what a migration leaves out: one without rows, which no data file is made of."""
    fields = tuple(f for f in table.schema.fields if f.name not in table.schema.partition_keys)
    try:
        with table.file_io.open_input(path) as source:
            return any(part.num_rows for part in PlainFiles(suffix, fields, {}).batches(source, path, 1))
    except (PaimonError, OSError):  # it is none of the source's
        return True


def _is_hidden(path: str, table: Table) -> bool:
    default = table.model.partition_default_name
    return any(part.startswith(("_", ".")) and part != default for part in path.split("/"))
