"""The order in which Java's `HashMap` lists texts: system tables show options in it."""

from collections.abc import Iterable


def hash_order(texts: Iterable[str]) -> list[str]:
    """Distinct texts, given in the order they were put in, as a `HashMap` lists them."""
    listed = list(texts)
    size = 16
    while len(listed) > size * 3 // 4:
        size *= 2
    return sorted(listed, key=lambda text: _spread(text) & (size - 1))


def _spread(text: str) -> int:
    value = 0
    units = text.encode("utf-16-be")
    for i in range(0, len(units), 2):
        value = (31 * value + int.from_bytes(units[i : i + 2], "big")) & 0xFFFFFFFF
    return value ^ (value >> 16)
