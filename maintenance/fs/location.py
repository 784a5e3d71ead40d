"""What a path says: on the local disk or in a store, and which file it is.

A path is what Paimon writes into its files and options: `/a/b`, `file:/a/b` or `s3://bucket/key`; one without a scheme
is local, and so is `FILE:/a/b`. Nothing in it is percent-encoded, and it has neither a query nor a fragment:
`file:/a%20b#c` is the folder `/a%20b#c`. Source: Java `Path`.
"""

import errno
import os
import re

from maintenance.errors import OptionError
from maintenance.names import MAX_BYTES

_FILE = re.compile("file:", re.IGNORECASE)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_THIS_HOST = ("", "localhost")


def is_local(path: str) -> bool:
    """Whether a path lies on the local disk."""
    return path.startswith(("/", ".")) or _FILE.match(path) is not None or "://" not in path


def is_absolute(path: str) -> bool:
    """Whether a path says the same wherever it is read: `/data`, `file:/data`, `s3://bucket`."""
    scheme = _SCHEME.match(path)
    return path.startswith("/") or (scheme is not None and path[scheme.end() :].startswith("/"))


def local_path(path: str) -> str:
    """The plain path of a local one. Raises: FileNotFoundError: no file can have it."""
    plain = _without_scheme(path)
    if "\0" in plain:
        raise FileNotFoundError(errno.ENOENT, "a path with a NUL character", path)
    if len(plain) > MAX_BYTES or not plain.isascii():
        _check_segments(plain)
    return plain


def warehouse_location(text: str) -> str:
    """The path of a warehouse, without a slash at its end. Raises: OptionError: it leads elsewhere than meant."""
    scheme = _SCHEME.match(text)
    rest = text if scheme is None else text[scheme.end() :]
    fault, is_file = None, _FILE.match(text) is not None
    if not text.strip() or "\0" in text:
        fault = "expected a path or URI"
    elif is_file and not rest.startswith("/"):
        fault = "a path after 'file:' must begin with '/'"
    elif is_file and rest.startswith("//") and rest[2:].partition("/")[0] not in _THIS_HOST:
        fault = f"'{rest[2:].partition('/')[0]}' is a host there, and files of other hosts cannot be read"
    elif scheme is not None and not is_file and not rest.startswith("//"):
        fault = f"'{scheme[1]}:' is neither a folder nor the beginning of a URI"
    if fault is not None:
        raise OptionError(
            f"'warehouse' = {text!r}: {fault}", "catalog options", "Write /folder, file:/folder or s3://bucket/folder."
        )
    return text.rstrip("/") or "/"


def _without_scheme(path: str) -> str:
    scheme = _FILE.match(path)
    if scheme is None:
        return path
    rest = path[scheme.end() :]
    # What stands between `//` and the next slash is a host, which Paimon does not look at.
    return f"/{rest[2:].partition('/')[2]}" if rest.startswith("//") else rest


def _check_segments(plain: str) -> None:
    try:
        longest = max(map(len, os.fsencode(plain).split(b"/")))
    except UnicodeEncodeError:
        raise FileNotFoundError(errno.ENOENT, "a path that is not valid Unicode", plain) from None
    if longest > MAX_BYTES:
        raise FileNotFoundError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), plain)
