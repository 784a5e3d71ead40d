"""`listagg`: texts put together with a delimiter; blank ones are left out.

Options: `fields.<column>.list-agg-delimiter` (a comma), `fields.<column>.distinct` (false): of each further text
only the new parts are added. The first text is not changed. Source: Java `FieldListaggAgg`.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.inputs import Inputs, Op
from maintenance.types.data_type import MAX_LENGTH, DataType

# What Java calls whitespace: blanks of no fixed width are not among them.
_WHITESPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
    "\u2028\u2029\u205f\u3000"
)


def listed(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    inputs = inputs.since_set
    delimiter = _delimiter(column)
    texts = inputs.values
    blank = is_blank(texts)
    holders = _of_blanks(inputs)
    if blank.all():
        return inputs.column.take(pa.array(holders, mask=holders < 0))
    distinct = column.flag("distinct")
    turned = distinct and inputs.has(Op.BEHIND)
    joined, segments = (_one_by_one if turned else _joined)(inputs, ~blank, delimiter, distinct=distinct)
    if len(segments) == len(inputs.starts):
        return joined
    # Segments of blanks alone come from the records, behind those that were joined.
    candidates = pa.concat_arrays([joined, inputs.column])
    at = np.where(holders < 0, -1, len(joined) + holders)
    at[segments] = np.arange(len(segments))
    return candidates.take(pa.array(at, mask=at < 0))


def _delimiter(column: AggregatedColumn) -> str:
    text = column.option("list-agg-delimiter")
    return "," if text is None else text


def is_blank(texts: pa.Array) -> np.ndarray:
    """Whether texts are null, empty or whitespace."""
    empty = pc.equal(pc.utf8_trim(texts, characters=_WHITESPACE), "")
    return np.asarray(empty.fill_null(True).to_numpy(zero_copy_only=False))


def _of_blanks(inputs: Inputs) -> np.ndarray:
    """Records that segments of blanks alone take their value from: a late one, else what was set; -1 = null."""
    return inputs.records(inputs.last(inputs.is_op(Op.BEHIND, Op.SET)))


def _in_place(inputs: Inputs, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions for which `where` holds in the order they are put together, and each one's segment.

    Late records come first, the latest of them at the front.
    """
    positions = np.flatnonzero(where)
    segments = inputs.segment[positions]
    if inputs.has(Op.BEHIND):
        late = inputs.is_op(Op.BEHIND)[positions]
        order = np.lexsort((np.where(late, -positions, positions), segments))
        positions, segments = positions[order], segments[order]
    return positions, segments


def _joined(inputs: Inputs, where: np.ndarray, delimiter: str, *, distinct: bool) -> tuple[pa.Array, np.ndarray]:
    positions, segments = _in_place(inputs, where)
    texts = inputs.column.take(pa.array(inputs.order[positions]))
    if distinct:
        texts, segments = _new_parts(texts, segments, delimiter)
    starts = np.flatnonzero(np.diff(segments, prepend=-1))
    offsets = pa.array(np.append(starts, len(segments)), pa.int32())
    return pc.binary_join(pa.ListArray.from_arrays(offsets, texts), delimiter), segments[starts]


def _new_parts(texts: pa.Array, segments: np.ndarray, delimiter: str) -> tuple[pa.Array, np.ndarray]:
    """Each segment's first text, and of the others the parts that were not there before."""
    opens = np.diff(segments, prepend=-1) != 0
    lists = pc.split_pattern(texts, delimiter or " ")
    parts = lists.flatten()
    parent = pc.list_parent_indices(lists).to_numpy()
    encoded = parts.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    _, first = np.unique(segments[parent] * len(encoded.dictionary) + codes, return_index=True)
    new = np.zeros(len(parts), bool)
    new[first] = True
    new &= ~opens[parent] & ~is_blank(parts)
    # The whole first text stands where its parts were.
    rows = np.concatenate([np.flatnonzero(opens), parent[new]])
    pieces = pa.concat_arrays([texts.filter(pa.array(opens)), parts.filter(pa.array(new))])
    order = np.argsort(rows, kind="stable")
    return pieces.take(pa.array(order)), segments[rows[order]]


def _one_by_one(inputs: Inputs, where: np.ndarray, delimiter: str, *, distinct: bool) -> tuple[pa.Array, np.ndarray]:
    """With late records each step counts: a late text goes to the front as it is, and then what was there is new."""
    del distinct
    kept, segments = inputs.only(where)
    late, texts = kept.is_op(Op.BEHIND).tolist(), kept.values.to_pylist()
    totals = []
    for start, end in zip(kept.starts.tolist(), kept.ends.tolist(), strict=True):
        total = texts[start]
        for position in range(start + 1, end):
            pair = (texts[position], total) if late[position] else (total, texts[position])
            total = _with_new_parts(*pair, delimiter)
        totals.append(total)
    return pa.array(totals, inputs.column.type), segments


def _with_new_parts(text: str, further: str, delimiter: str) -> str:
    parts = _parts(text, delimiter)
    seen = set(parts)
    added = []
    for part in _parts(further, delimiter):
        if part.strip(_WHITESPACE) and part not in seen:
            seen.add(part)
            added.append(part)
    return delimiter.join([text, *added])


def _parts(text: str, delimiter: str) -> Sequence[str]:
    return text.split(delimiter or " ")


def _accepts(data_type: DataType) -> bool:
    return data_type.root == "VARCHAR" and data_type.length == MAX_LENGTH


def _check(column: AggregatedColumn) -> None:
    column.flag("distinct")


LISTAGG = Aggregate("listagg", _accepts, "STRING", listed, check=_check)
