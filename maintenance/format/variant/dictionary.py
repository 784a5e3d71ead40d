"""The metadata of variants: the names that fields inside them have.

A byte (version 1, and how many bytes a number takes), how many names, their offsets and their end, the texts.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.bytes.ragged import Ragged, ends, fixed, interleaved, spread
from maintenance.format.variant.binary import damaged, padded, put_unsigned, unsigned, widths

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Names:
    """The names in the metadata of n variants.

    Attributes:
        texts: every different name once.
        firsts: where the names of each variant begin in `numbers`; int64, shape (n + 1,).
        numbers: for every name of every variant, its number in `texts`; int64.
    """

    texts: pa.Array
    firsts: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, metadata: Ragged) -> "Names":
        """Read the names. Raises: CorruptFileError."""
        data, start, end = padded(metadata.data), metadata.offsets[:-1], metadata.offsets[1:]
        if (metadata.sizes < 1).any() or (data[start] & 0xF != _VERSION).any():
            raise damaged("its metadata is not of version 1")
        size = (data[start] >> 6).astype(np.int64) + 1
        counts = unsigned(data, start + 1, size)
        texts_at = start + 1 + (counts + 2) * size
        if (texts_at > end).any():
            raise damaged("its metadata is cut off")
        row, place = np.repeat(np.arange(len(counts)), counts), spread(np.zeros(len(counts), np.int64), counts)
        offset_at = start[row] + (1 + place) * size[row] + 1
        first, last = unsigned(data, offset_at, size[row]), unsigned(data, offset_at + size[row], size[row])
        if (last < first).any() or (texts_at[row] + last > end[row]).any():
            raise damaged("a name is cut off")
        content = Ragged(data[spread(texts_at[row] + first, last - first)], ends(last - first))
        encoded = texts_of(content).dictionary_encode()
        numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return cls(encoded.dictionary, ends(counts), numbers)

    def of_fields(self, rows: np.ndarray, names: np.ndarray) -> np.ndarray:
        """Numbers in `texts` of fields. `rows`: number of the variant each is in; `names`: of its name there.

        Raises: CorruptFileError: a variant has no such name.
        """
        at = self.firsts[rows] + names
        if (at >= self.firsts[rows + 1]).any():
            raise damaged("a field has a name that the metadata lacks")
        numbers: np.ndarray = self.numbers[at]
        return numbers

    def numbers_of(self, name: str) -> np.ndarray:
        """The number that a name has in the metadata of each variant, -1 where it has it not. int64, shape (n,)."""
        numbers = np.full(len(self.firsts) - 1, -1, np.int64)
        text = pc.index(self.texts, name).as_py()
        if text < 0:
            return numbers
        at = np.flatnonzero(self.numbers == text)
        rows = np.searchsorted(self.firsts, at, "right") - 1
        numbers[rows] = at - self.firsts[rows]
        return numbers

    @property
    def ranks(self) -> np.ndarray:
        """The place of each text in the order in which objects have their fields. int64, shape (texts,)."""
        return ranks(self.texts)


def ranks(texts: pa.Array) -> np.ndarray:
    """The place of each text, all of them different, in the order of UTF-16, which is that of Java's texts."""
    if pc.any(pc.match_substring_regex(texts, r"[\x{E000}-\x{10FFFF}]")).as_py():
        # Code points beyond 16 bits come before some within them: seldom in names, and each name is there once.
        order = np.array(sorted(range(len(texts)), key=lambda n: texts[n].as_py().encode("utf-16-be")), np.int64)
    else:
        order = pc.sort_indices(texts.cast(pa.binary())).to_numpy().astype(np.int64)
    places = np.empty(len(texts), np.int64)
    places[order] = np.arange(len(texts))
    return places


def metadata_of(rows: int, owners: np.ndarray, names: np.ndarray, texts: pa.Array) -> tuple[Ragged, np.ndarray]:
    """The metadata of variants, and the number that each field's name has in it.

    Args: `rows`: how many variants; `owners`, `names`: of each field the variant, and its name as a number of `texts`.
    """
    codes, fields = np.unique(owners * max(1, len(texts)) + names, return_inverse=True)
    owner, name = np.divmod(codes, max(1, len(texts)))
    counts = np.bincount(owner, minlength=rows)
    firsts = ends(counts)
    content = bytes_of(texts).take(name)
    sizes = np.diff(content.offsets[firsts])
    size = widths(np.maximum(sizes, counts))
    offsets_at = 1 + size
    texts_at = offsets_at + (counts + 1) * size
    out = ends(texts_at + sizes)
    start = out[:-1]
    data = np.zeros(int(out[-1]), np.uint8)
    data[start] = _VERSION | size - 1 << 6
    put_unsigned(data, start + 1, counts, size)
    place = np.arange(len(codes)) - firsts[owner]
    before = content.offsets[:-1] - content.offsets[firsts[owner]]
    put_unsigned(data, (start + offsets_at)[owner] + place * size[owner], before, size[owner])
    put_unsigned(data, start + offsets_at + counts * size, sizes, size)
    data[spread(start + texts_at, sizes)] = content.data
    return Ragged(data, out), np.asarray(fields - firsts[owners])


def bytes_of(texts: pa.Array) -> Ragged:
    """Texts or bytes; nothing where null."""
    if not len(texts):
        return Ragged(np.empty(0, np.uint8), np.zeros(1, np.int64))
    if pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type):
        texts = texts.cast(pa.binary())
    if texts.null_count:
        texts = pc.fill_null(texts.cast(pa.binary()), b"")
    _, offsets, content = texts.buffers()
    places = np.frombuffer(offsets, np.int32, len(texts) + 1, texts.offset * 4).astype(np.int64)
    data = np.frombuffer(content or b"", np.uint8)[places[0] : places[-1]]
    return Ragged(data, places - places[0])


def texts_of(content: Ragged) -> pa.Array:
    """The byte strings as texts. Raises: CorruptFileError: not UTF-8."""
    try:
        return binaries_of(content).cast(pa.string())
    except pa.ArrowInvalid as error:
        raise damaged(f"a text is not UTF-8: {error}") from error


def binaries_of(content: Ragged, nulls: np.ndarray | None = None) -> pa.Array:
    """The byte strings as an Arrow array, null where said."""
    is_large = content.offsets[-1] >= 2**31
    offsets = content.offsets.astype(np.int64 if is_large else np.int32)
    kind = pa.large_binary() if is_large else pa.binary()
    valid = None if nulls is None else pa.array(~nulls).buffers()[1]
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(content.data))]
    return pa.Array.from_buffers(kind, len(content), buffers)


def prefixed(first: np.ndarray, *rest: Ragged) -> Ragged:
    """Values with a first byte. `first`: uint8, shape (n,)."""
    return interleaved(fixed(first.astype(np.uint8)), *rest)
