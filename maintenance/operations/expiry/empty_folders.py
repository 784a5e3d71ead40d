"""Delete folders of buckets and partitions that an expiry has left empty: `snapshot.clean-empty-directories`.

A folder goes only if it is empty at that very moment. Object stores have no folders. Source: Java `FileDeletionBase`.
"""

from collections.abc import Iterable

from maintenance.metadata.external_paths import external_roots, is_entropy, root_of
from maintenance.options import table as table_options
from maintenance.table.table import Table


def clean_empty_folders(table: Table, deleted: Iterable[str]) -> tuple[str, ...]:
    """Delete the folders that deleted files were in, and those above them, where nothing is left.

    Args: `deleted`: paths of the files. Returns: the folders; none unless the table's option says so.
    """
    if not table_options.SNAPSHOT_CLEAN_EMPTY_DIRECTORIES.of(table.options):
        return ()
    gone = []
    roots = (table.paths.data_root, *external_roots(table.options))
    folders = {folder for folder in (path.rpartition("/")[0] for path in deleted) if _is_of_bucket(folder)}
    while folders:
        emptied = [folder for folder in sorted(folders) if table.file_io.delete_empty_folder(folder)]
        gone += emptied
        folders = {folder.rpartition("/")[0] for folder in emptied}
        folders = {folder for folder in folders if root_of(folder, roots) is not None}
    return tuple(gone)


def _is_of_bucket(folder: str) -> bool:
    """Whether it is a bucket's folder, or one that spreads files below it."""
    above, _, spread = folder.rpartition("/bucket-")
    name, _, below = spread.partition("/")
    return bool(above and name) and (not below or is_entropy(below))
