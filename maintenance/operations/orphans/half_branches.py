"""Branches that a process which died has left half created, half renamed or half deleted, and that nobody sees.

Their files count as orphans. What hides such a branch goes once nothing of it is left, never before. A branch may be
created again under the name meanwhile, so right before its files go they are looked at again.
"""

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.metadata.branches import Branches
from maintenance.operations.orphans.candidates import HALF_BRANCH
from maintenance.table.table import Table


def still_half(orphans: pa.Table, table: Table, before: int) -> pa.Array:
    """Of each file, whether it may still be deleted: it is of no half branch, or of one that has not changed.

    Args: `before`: as of `unfinished`.
    """
    others = pc.not_equal(orphans.column("kind"), HALF_BRANCH).combine_chunks()
    if pc.all(others).as_py():
        return others
    there = {
        f"{folder}/{file.path}"
        for folder in Branches(table.file_io, table.paths).unfinished(before)
        for file in table.file_io.list_tree(folder)
        if file.mtime_ms < before
    }
    return pc.or_(others, pc.is_in(orphans.column("path").combine_chunks(), pa.array(sorted(there), pa.string())))


def end_half_branches(table: Table, before: int) -> None:
    """Delete what marks half branches of which no file is left. `before`: as of `Branches.unfinished`."""
    branches = Branches(table.file_io, table.paths)
    for folder, mark in branches.unfinished(before).items():
        if table.file_io.list_tree(folder):
            continue
        for empty in (folder, mark):
            if empty and table.file_io.folder_exists(empty):
                table.file_io.delete_folder(empty)
