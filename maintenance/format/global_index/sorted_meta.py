"""What an index manifest says of the keys of a file of type btree or bitmap. Source: Java `SortedIndexFileMeta`."""

import struct
from dataclasses import dataclass

_LENGTH = struct.Struct("<i")
_VERSION = 1
_FIRST_IS_NULL, _LAST_IS_NULL = 1, 2


@dataclass(frozen=True, slots=True)
class SortedMeta:
    """The smallest and largest key, None where all values are null."""

    first: bytes | None
    last: bytes | None
    has_nulls: bool

    def serialize(self) -> bytes:
        flags = (_FIRST_IS_NULL if self.first is None else 0) | (_LAST_IS_NULL if self.last is None else 0)
        keys = b"".join(_LENGTH.pack(len(key or b"")) + (key or b"") for key in (self.first, self.last))
        return keys + bytes([self.has_nulls, _VERSION, flags])
