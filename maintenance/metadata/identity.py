"""A file must have the content that its name, and the file that refers to it, say.

After a wrong restore or copy, files may be intact but have the content of another one. Snapshots, changelogs and
schemas repeat the number of their name; of all other files the one that names them says the size, of manifests also how
many entries they have. Read under a wrong name they would give wrong rows, and an expiry would delete what is still
needed.
"""

from maintenance.errors import RESTORE, CorruptFileError

# What files of tables begin with: Avro, Parquet, ORC, JSON. A file that begins otherwise holds nothing known.
BEGINNINGS = (b"Obj\x01", b"PAR1", b"ORC", b"{")


def check_number(kind: str, named: int, actual: int, path: str) -> None:
    """Check that a file holds the number of its name. `kind`: of the file, such as ``snapshot``.

    Raises: CorruptFileError.
    """
    if named != actual:
        raise unexpected(f"{kind} {named}", f"{kind} {actual}", path)


def check_size(expected: int | None, actual: int, path: str) -> None:
    """Check the bytes of a file. `expected`: None where nothing says it, as in files of old versions.

    Raises: CorruptFileError.
    """
    if expected is not None and expected != actual:
        raise unexpected(f"{expected} bytes", str(actual), path)


def unexpected(expected: str, actual: str, path: str) -> CorruptFileError:
    """The error for a file that holds something else than what names it says."""
    return CorruptFileError(f"expected {expected}, found {actual}", path, RESTORE)
