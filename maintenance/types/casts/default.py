"""The value that a column's default text stands for. Source: Java `DefaultValueUtils`.

Spark stores defaults of arrays, maps and rows as the expression that was written, ``ARRAY('a', 'b')``, and evaluates it
when it writes: the quotes around texts in it are not part of them.
"""

import re

import pyarrow as pa

from maintenance.errors import DataError, SchemaError, UnsupportedError
from maintenance.types.casts.nested_text import array_of_text
from maintenance.types.data_type import DataType

_CONSTRUCTOR = re.compile(r"\s*(?:ARRAY|MAP|STRUCT)\s*\(", re.IGNORECASE)
# A text that has nothing in it which would part it without its quotes.
_QUOTED = re.compile(r"'([^'\\,()\[\]{}\"]*)'")


def default_value(text: str, data_type: DataType, zone: str) -> pa.Scalar:
    """The text, without the quotes around it, as the type has it.

    Raises: SchemaError: it is not a value of the type, or the type has no default values.
    """
    if _CONSTRUCTOR.match(text):
        text = _QUOTED.sub(lambda quoted: quoted[1], text)
    where = f"default value `{text}`"
    is_quoted = text.startswith("'") and text.endswith("'")
    try:
        if text == "'":
            raise DataError("a single quote is not a text", "cast", "Close the text with a second single quote.")
        return array_of_text(text[1:-1] if is_quoted else text, data_type, zone)[0]
    except (DataError, UnsupportedError) as error:
        raise SchemaError(error.found, where, "Give a text that can be cast to the type.") from error
