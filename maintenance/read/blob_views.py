"""References to blobs of other tables: columns of `blob-view-field`.

A reference names a table, a column by its id and a row by its id: what stands there now is its value. Reads look up all
references of some rows at once. Source: Java `BlobViewLookup`, `BlobViewTableReadSupport`.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from maintenance.errors import MissingFileError
from maintenance.format.blob_descriptor import BlobView, parse_view
from maintenance.options.blob import BLOB_VIEW_RESOLVE_ENABLED
from maintenance.options.model import TableModel
from maintenance.read.blobs import BlobPlace
from maintenance.types.data_type import DataField


class Views(Protocol):
    """Looks up references; travels to Spark's tasks."""

    def look_up(self, views: Sequence[BlobView]) -> Mapping[BlobView, BlobPlace | None]:
        """Where the blobs of references are, None where the value is null; rows that are not there are left out.

        Raises: NotFoundError: there is no such table or column; what reading the table raises.
        """


def viewed_columns(columns: Sequence[DataField], options: TableModel) -> tuple[str, ...]:
    """The columns whose references are to be looked up."""
    if not BLOB_VIEW_RESOLVE_ENABLED.of(options):
        return ()
    views = options.blob_view_field
    return tuple(column.name for column in columns if column.type.root == "BLOB" and column.name in views)


def viewed_places(rows: pa.Table, names: Sequence[str], views: Views, where: str) -> dict[str, list[BlobPlace | None]]:
    """Where the blobs of columns of references are. `where`: the table.

    Raises: DataError: bytes that are no reference; MissingFileError: a row that is not there.
    """
    references = {
        name: [None if data is None else parse_view(data, f"{where}, column {name}") for data in column.to_pylist()]
        for name, column in zip(names, rows.select(list(names)).columns, strict=True)
    }
    wanted = sorted({one for column in references.values() for one in column if one is not None})
    found = views.look_up(wanted) if wanted else {}
    lost = next((view for view in wanted if view not in found), None)
    if lost is not None:
        raise MissingFileError(
            f"a blob refers to row {lost.row_id} of table {lost.table}, which is not there",
            where,
            f"Set '{BLOB_VIEW_RESOLVE_ENABLED.key}' = 'false' to read the references.",
        )
    return {name: [None if one is None else found[one] for one in column] for name, column in references.items()}
