"""Where a tag that comes or goes is reported: the catalog, and jobs that wait for the tag's success file.

Source: Java `TagCallback`, `SuccessFileTagCallback`.
"""

import time

from maintenance.commit.iceberg.follow import follow
from maintenance.metadata.success_file import write_success_file
from maintenance.options.callbacks import TAG_GROUP, call_back
from maintenance.table.table import Table


def report_created(table: Table, name: str) -> None:
    """Report a new tag. Raises: InfrastructureError: the catalog cannot be reached, or a callback failed."""
    if table.model.tag_create_success_file:
        write_success_file(table.file_io, _success_file(table, name), time.time_ns() // 1_000_000)
    table.record.tag_created(name)
    follow(table.identifier, table.file_io, table.paths, table.options)
    call_back(TAG_GROUP, table.options, table.identifier, "created", name)


def report_deleted(table: Table, name: str) -> None:
    """Report a tag that is gone. Raises: as `report_created`."""
    if table.model.tag_create_success_file:
        table.file_io.delete_quietly([_success_file(table, name)])
    table.record.tag_deleted(name)
    follow(table.identifier, table.file_io, table.paths, table.options)
    call_back(TAG_GROUP, table.options, table.identifier, "deleted", name)


def _success_file(table: Table, name: str) -> str:
    table.paths.tag(name)  # refuses a name that leads to another folder
    return f"{table.paths.tag_folder()}/tag-success-file/{name}_SUCCESS"
