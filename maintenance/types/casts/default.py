"""The value that a column's default text stands for. Source: Java `DefaultValueUtils`."""

import pyarrow as pa

from maintenance.errors import DataError, SchemaError, UnsupportedError
from maintenance.types.arrow import arrow_type
from maintenance.types.casts.cast import STRING, cast
from maintenance.types.casts.matrix import is_castable
from maintenance.types.data_type import DataType


def default_value(text: str, data_type: DataType, zone: str) -> pa.Scalar:
    """The text, without the quotes around it, cast to the type.

    Raises: SchemaError: it is no value of the type; UnsupportedError: of a nested type.
    """
    where = f"default value `{text}`"
    if data_type.is_nested:
        raise UnsupportedError(
            f"a default value of type {data_type} is not supported yet", where, "Leave the default out."
        )
    if not is_castable(STRING, data_type):
        raise SchemaError(f"a column of type {data_type} has no default value", where, "Leave the default out.")
    plain = text[1:-1] if len(text) > 1 and text.startswith("'") and text.endswith("'") else text
    try:
        column = cast(pa.chunked_array([pa.array([plain], pa.string())]), STRING, data_type, zone)
    except DataError as error:
        raise SchemaError(error.found, where, "Give a text that can be cast to the type.") from error
    return column[0] if column.num_chunks else pa.scalar(None, arrow_type(data_type))
