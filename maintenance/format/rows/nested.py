"""Replace the values inside nested Arrow columns by the same number of values in the same order."""

from collections.abc import Sequence

import pyarrow as pa


def rebuilt(array: pa.Array, target: pa.DataType, children: Sequence[pa.Array]) -> pa.Array:
    """A list, map or struct with the nulls and bounds of `array`, of another type around other children.

    Args: `array`: not sliced; `children`: of a list its values, of a map its entries, of a struct its fields, as long
        as those they replace.
    """
    buffers = array.buffers()[: 1 if pa.types.is_struct(target) else 2]
    return pa.Array.from_buffers(target, len(array), buffers, children=list(children))


def entries(of_map: pa.MapType, parts: Sequence[pa.Array]) -> pa.Array:
    """The entries of maps. `parts`: their keys and their values."""
    inner = pa.struct([of_map.key_field, of_map.item_field])
    return pa.Array.from_buffers(inner, len(parts[0]), [None], children=list(parts))
