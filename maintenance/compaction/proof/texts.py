"""Columns whose function joins texts: the expected text, letter by letter, from the texts by age."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.compaction.proof.records import Groups
from maintenance.compaction.proof.unit import Expected, Unit, Values
from maintenance.types.lists import lengths
from maintenance.types.row_hash import NULL, column_words, combined, mixed

_U64 = np.uint64
# Nothing but what Java calls whitespace: blanks of no fixed width are not.
_BLANK = r"\A[\x09-\x0d\x1c-\x20\x{1680}\x{2000}-\x{2006}\x{2008}-\x{200a}\x{2028}\x{2029}\x{205f}\x{3000}]*\z"


def is_blank(texts: pa.Array) -> np.ndarray:
    """Whether texts are null, empty, or of what Java calls whitespace."""
    return np.asarray(pc.match_substring_regex(texts, _BLANK).fill_null(True).to_numpy(zero_copy_only=False))


def joined_texts(delimiter: str, *, distinct: bool) -> Callable[[Unit, Values, Groups], Expected]:
    """Texts that are not blank one after the other; with `distinct` only those parts that are not there yet."""

    def expect(unit: Unit, records: Values, groups: Groups) -> Expected:
        column = records.column(unit.names[0])
        filled = ~is_blank(column)
        with_text, present = groups.any(filled), groups.only(filled)
        words = np.full(len(with_text), NULL)
        if with_text.any():
            texts = column.take(pa.array(present.order))
            owners = np.repeat(np.arange(len(present.starts)), present.counts)
            if distinct:
                texts, owners = _new_parts(texts, owners, delimiter)
            offsets = np.searchsorted(owners, np.arange(len(present.starts) + 1))
            lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts)
            words[with_text] = column_words(pc.binary_join(lists, delimiter))
        return Expected(words)

    return expect


def _new_parts(texts: pa.Array, owners: np.ndarray, delimiter: str) -> tuple[pa.Array, np.ndarray]:
    """Of each owner the first text, whole, and the parts of the others that were not there before."""
    split = pc.split_pattern(texts, delimiter or " ")
    parts, of_text = split.flatten(), np.repeat(np.arange(len(texts)), lengths(split))
    pairs = mixed(combined([owners[of_text].astype(_U64), column_words(parts)], (0, 1)))
    _, first = np.unique(pairs, return_index=True)
    opening = np.diff(owners, prepend=-1) != 0
    first = first[~opening[of_text[first]] & ~is_blank(parts)[first]]
    first.sort()
    opens = np.flatnonzero(opening)
    place = np.concatenate([opens, of_text[first]])
    order = np.argsort(place, kind="stable")
    pieces = pa.concat_arrays([texts.take(pa.array(opens)), parts.take(pa.array(first))])
    return pieces.take(pa.array(order)), owners[place[order]]
