"""Numbers of JSON keep their own text: DuckDB reads those with a fraction or an exponent as doubles.

Such a number is made a text with a mark before it, and what is taken out of the JSON loses the mark again.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.types.casts.cast import STRING, cast
from maintenance.types.data_type import DataType

_MARK = "\ufdd0"  # no character: Unicode keeps it for uses like this one
_INEXACT = r"[0-9][.eE][-+0-9]"
_TEXT = r'"(?:[^"\\]|\\.)*"'
_NUMBER = r"-?[0-9]+(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"


def with_marks(lines: pa.Array) -> pa.Array:
    """Texts of JSON with marks."""
    if not pc.any(pc.match_substring_regex(lines, _INEXACT)).as_py():
        return lines
    # Behind each text comes an empty one, as its second group has nothing: the next line takes it away.
    marked = pc.replace_substring_regex(lines, rf"({_TEXT})|({_NUMBER})", rf'\1"{_MARK}\2"')
    return pc.replace_substring_regex(marked, rf'({_TEXT})(?:"{_MARK}")?', r"\1")


def without_marks(texts: pa.Array) -> pa.Array:
    """What was taken out of such JSON: a number's text, or JSON with numbers in it."""
    return pc.replace_substring_regex(texts, rf'"{_MARK}({_NUMBER})"|^{_MARK}({_NUMBER})$', r"\1\2")


def as_doubles(texts: pa.Array) -> pa.Array:
    """The same, where a number with a fraction or an exponent is a double and shown as Java shows it.

    So Paimon reads JSON files of format tables. Source: Java `JsonFileReader`, Jackson's `DoubleNode.asText`.
    """
    marked = pc.fill_null(pc.starts_with(texts, _MARK), False)
    if pc.any(marked).as_py():
        numbers = np.array(without_marks(texts.filter(marked)).to_pylist(), np.float64)
        shown = cast(pa.chunked_array([pa.array(numbers)]), DataType("DOUBLE"), STRING)
        texts = pc.replace_with_mask(texts, marked, shown.combine_chunks().cast(texts.type))
    return without_marks(texts)
