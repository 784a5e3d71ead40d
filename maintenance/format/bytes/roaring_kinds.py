"""The kind of a container of a roaring bitmap if an array and runs take nearly the same space.

Java's `runOptimize` turns an array into runs only if they are smaller, and runs into an array only if that is smaller,
each with its own measure of size. With `r` runs of `c` values, between c = 2r and c = 2r + 1, a container therefore
stays what it was: runs if one of the two that were united had runs. Source: Java `ArrayContainer`, `RunContainer`.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from maintenance.format.bytes.roaring import ARRAY, BITS, RUN, Container, parse_portable, serialize_portable


def united_kinds(data: bytes, united: Sequence[bytes]) -> bytes:
    """A 32-bit bitmap with containers of the kinds that Java gives them. `united`: the bitmaps it is the union of."""
    containers = parse_portable(data)
    if not any(map(_is_between, (container for _, container in containers))):
        return data
    parts = [dict(parse_portable(bitmap)) for bitmap in united]
    return serialize_portable(
        [(key, united_kind(container, (part[key] for part in parts if key in part))) for key, container in containers]
    )


def united_kind(container: Container, united: Iterable[Container]) -> Container:
    """A container of the kind that Java gives it. `united`: those it is the union of, in their order."""
    if not _is_between(container):
        return container
    kind, so_far = ARRAY, np.empty(0, np.int64)
    for part in united:
        so_far = np.union1d(so_far, _values(part))
        count, runs = len(so_far), _runs(so_far)
        if count // 2 == runs:
            kind = RUN if RUN in (kind, part.kind) else ARRAY
        else:
            kind = RUN if count > 2 * runs else ARRAY
    return container if container.kind == kind else _of_kind(kind, _values(container))


def _is_between(container: Container) -> bool:
    """Whether an array and runs take nearly the same space."""
    return container.kind != BITS and container.cardinality // 2 == _runs_of(container)


def _runs_of(container: Container) -> int:
    return int.from_bytes(container.data[:2], "little") if container.kind == RUN else _runs(_values(container))


def _runs(values: np.ndarray) -> int:
    return int(np.count_nonzero(np.diff(values) != 1)) + 1 if len(values) else 0


def _values(container: Container) -> np.ndarray:
    """The values of a container, ascending. int64, shape (cardinality,)."""
    if container.kind == BITS:
        return np.flatnonzero(np.unpackbits(np.frombuffer(container.data, np.uint8), bitorder="little"))
    numbers = np.frombuffer(container.data, "<u2").astype(np.int64)
    if container.kind == ARRAY:
        return numbers
    starts, lengths = numbers[1::2], numbers[2::2] + 1
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    values: np.ndarray = np.repeat(starts, lengths) + within
    return values


def _of_kind(kind: int, values: np.ndarray) -> Container:
    if kind == ARRAY:
        return Container(ARRAY, len(values), values.astype("<u2").tobytes())
    first = np.flatnonzero(np.diff(values, prepend=-2) != 1)
    lengths = np.diff(np.append(first, len(values)))
    pairs = np.column_stack([values[first], lengths - 1]).ravel()
    return Container(RUN, len(values), np.concatenate([[len(first)], pairs]).astype("<u2").tobytes())
