"""Timestamps of seven to nine digits as users get them where Arrow's nanoseconds do not hold them all.

Then a column has an extension type over `struct<micros: timestamp[us], nanos: int16>`: microseconds, and the
nanoseconds behind them. As Python values these are whole nanoseconds since 1970, which are numbers of any size.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.types import nanos
from maintenance.types.arrow import FAR_TIMESTAMP_NAME

_MICROS, _NANOS = "micros", "nanos"


class FarTimestampScalar(pa.ExtensionScalar):  # type: ignore[misc]
    """One timestamp."""

    def as_py(self, **_: Any) -> int | None:
        """Nanoseconds since 1970, None of null."""
        if self.value is None:
            return None
        return int(self.value[_MICROS].value) * 1000 + int(self.value[_NANOS].as_py())


class FarTimestampType(pa.ExtensionType):  # type: ignore[misc]
    """The type of such columns. `tz`: "UTC" of TIMESTAMP WITH LOCAL TIME ZONE."""

    def __init__(self, tz: str | None = None) -> None:
        self.tz = tz
        super().__init__(
            pa.struct([pa.field(_MICROS, pa.timestamp("us", tz)), pa.field(_NANOS, pa.int16())]), FAR_TIMESTAMP_NAME
        )

    def __hash__(self) -> int:
        return hash((type(self), self.tz))

    def __arrow_ext_serialize__(self) -> bytes:
        return (self.tz or "").encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> "FarTimestampType":
        return cls(serialized.decode() or None)

    def __arrow_ext_scalar_class__(self) -> type[FarTimestampScalar]:
        return FarTimestampScalar


def in_far(array: pa.Array, kind: FarTimestampType) -> pa.Array:
    """Timestamps, `NANOS`, with that type."""
    micros, rest = nanos.parts_of(array)
    parts = [
        nanos.micros_of(array, kind.tz) if array.null_count else pa.array(micros).cast(pa.timestamp("us", kind.tz)),
        pa.array(rest.astype(np.int16)),
    ]
    mask = array.is_null() if array.null_count else None
    storage = pa.StructArray.from_arrays(parts, fields=list(kind.storage_type), mask=mask)
    return pa.ExtensionArray.from_storage(kind, storage)


def of_far(array: pa.Array, tz: str | None) -> pa.Array:
    """`NANOS` out of what is stored under that type. Raises: pa.ArrowInvalid: it is something else."""
    kind = FarTimestampType(tz).storage_type
    if [field.name for field in array.type] != [_MICROS, _NANOS] or array.type.field(0).type != kind.field(0).type:
        raise pa.ArrowInvalid(f"{array.type} is not {kind}")
    micros, rest = array.flatten()  # null where the struct is
    bounds = pc.min_max(rest).as_py()
    if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < 1000:
        raise pa.ArrowInvalid(f"nanos of {bounds['min']} to {bounds['max']}: there are 0 to 999 behind a microsecond")
    return nanos.with_rest(micros, rest.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False))
