"""Bounds of texts that start with a prefix."""

_FIRST_SURROGATE, _LAST_SURROGATE, _LAST = 0xD800, 0xDFFF, 0x10FFFF


def successor(prefix: str) -> str | None:
    """The smallest text above every text that starts with `prefix`; None if there is none."""
    for end in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[end]) + 1
        if code <= _LAST:
            # Surrogates are not characters of their own.
            code = _LAST_SURROGATE + 1 if _FIRST_SURROGATE <= code <= _LAST_SURROGATE else code
            return prefix[:end] + chr(code)
    return None
