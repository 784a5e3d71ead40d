"""Index the values that the maps of a column have for one key. A map without the key counts as null.

Source: data section 9.1 (`m[key]`), Java `DataFileIndexWriter.MapFileIndexMaintainer`.
"""

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.file_index.kind import IndexBuilder


class MapValueBuilder:
    """Gives the values of one key to a builder."""

    def __init__(self, inner: IndexBuilder, key: str) -> None:
        self._inner = inner
        self._key = key

    def add(self, array: pa.Array | pa.ChunkedArray) -> None:
        """Take the column's next maps, nulls included."""
        for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else (array,):
            self._inner.add(pc.map_lookup(chunk, pa.scalar(self._key, chunk.type.key_type), "last"))

    def finish(self) -> bytes | None:
        """The body; None if no row was added. Raises: DataError."""
        return self._inner.finish()
