"""A file must hold what its name, and whatever names it, says.

A wrong restore or copy leaves files that are intact and hold another one's content. Snapshots, changelogs and schemas
repeat the number of their name; of all other files the one that names them says the size, of manifests also how many
entries they have. Read under a wrong name they would give wrong rows, and an expiry would delete what is still needed.
"""

from maintenance.errors import CorruptFileError

# What files of tables begin with: Avro, Parquet, ORC, JSON. A file that begins otherwise holds nothing known.
BEGINNINGS = (b"Obj\x01", b"PAR1", b"ORC", b"{")

RESTORE = "Restore the file from a copy, or roll back to a snapshot or tag that is intact."


def check_number(kind: str, named: int, found: int, path: str) -> None:
    """Check that a file holds the number of its name. `kind`: of the file, such as ``snapshot``.

    Raises: CorruptFileError.
    """
    if named != found:
        raise unexpected(f"{kind} {named}", f"{kind} {found}", path)


def check_size(expected: int | None, found: int, path: str) -> None:
    """Check the bytes of a file. `expected`: None where nothing says it, as in files of old versions.

    Raises: CorruptFileError.
    """
    if expected is not None and expected != found:
        raise unexpected(f"{expected} bytes", str(found), path)


def unexpected(expected: str, found: str, path: str) -> CorruptFileError:
    """The error for a file that holds something else than what names it says."""
    return CorruptFileError(f"expected {expected}, found {found}", path, RESTORE)
