"""Delete folders of buckets and partitions that an expiry has left empty: `snapshot.clean-empty-directories`.

A folder goes only if it is empty at that very moment. Object stores have no folders. Source: Java `FileDeletionBase`.
"""

from collections.abc import Iterable

from maintenance.options import table as table_options
from maintenance.table.table import Table


def clean_empty_folders(table: Table, deleted: Iterable[str]) -> tuple[str, ...]:
    """Delete the folders that deleted files were in, and those above them, where nothing is left.

    Args: `deleted`: paths of the files. Returns: the folders; none unless the table's option says so.
    """
    if not table_options.SNAPSHOT_CLEAN_EMPTY_DIRECTORIES.of(table.options):
        return ()
    gone = []
    parents = {path.rpartition("/")[0] for path in deleted}
    folders = {folder for folder in parents if folder.rpartition("/")[2].startswith("bucket-")}
    root = table.paths.data_root
    while folders:
        emptied = [folder for folder in sorted(folders) if table.file_io.delete_empty_folder(folder)]
        gone += emptied
        folders = {folder.rpartition("/")[0] for folder in emptied}
        folders = {folder for folder in folders if folder.startswith(f"{root}/")}
    return tuple(gone)
