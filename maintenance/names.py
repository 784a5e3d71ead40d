"""One rule for every name that becomes part of a path: of databases, tables, branches, tags, consumers and files.

A name must stay one segment of a path, whatever stands around it there. Otherwise a table named ``..`` is the
warehouse, and dropping it deletes every database.

There are two degrees. Whatever reads, moves or deletes asks for a *segment* only: each file and folder that exists has
passed it, so what Apache Paimon named (blanks, dots, any script) can be opened, renamed and dropped. Whatever creates
asks for a *new name*, which also must not be blank and must fit into the 255 bytes that file systems allow.

Paimon escapes partition values by a rule of its own (`metadata.partition_path`), and writes the column's name in front
of them, so that every value is a segment.
"""

from maintenance.errors import ROLL_BACK, CorruptFileError, OptionError, PaimonError

MAX_BYTES = 255
"""Bytes of a file's or folder's name on the file systems that matter."""
TEMPORARY_BYTES = len(".") + len(".00000000-0000-0000-0000-000000000000.tmp")
"""What is put around a file's name while the file is being written."""
FILE_BYTES = 100 + TEMPORARY_BYTES
"""What may stand behind the prefix of a data file: a UUID, a counter, extensions."""
_ITSELF_OR_PARENT = (".", "..")


def segment_fault(text: str) -> str | None:
    """Why a text cannot be one segment of a path, None if it can."""
    if text == "":
        return "it is empty"
    if "/" in text:
        return "it contains '/'"
    if "\0" in text:
        return "it contains a NUL character"
    if text in _ITSELF_OR_PARENT:
        return "it means another folder"
    try:
        # Names on disk that are not UTF-8 reach Python as surrogates, which this lets through.
        text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    return None


def new_name_fault(text: str, around: int = 0) -> str | None:
    """Why nothing new can have a name, None if it can. `around`: bytes that are put around it in the path."""
    fault = segment_fault(text)
    if fault is not None:
        return fault
    if not text.strip():
        return "it is blank"
    if ":" in text:
        return "it contains ':', and Apache Paimon cannot list files with that"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    limit = MAX_BYTES - around
    return f"it has {size} bytes, the limit is {limit}" if size > limit else None


def segment(
    name: str, purpose: str, where: str, *, prefix: str = "", suffix: str = "", error: type[PaimonError] = OptionError
) -> str:
    """The segment that a name makes with what Paimon puts around it. `purpose`: such as ``a tag``.

    Raises: `error`: it would lead to another folder.
    """
    whole = f"{prefix}{name}{suffix}"
    _check(name, segment_fault(whole), purpose, where, error)
    return whole


def check_new_name(
    name: str, purpose: str, where: str, *, around: int = 0, error: type[PaimonError] = OptionError
) -> None:
    """Raises: `error`: nothing new can have that name. `around`: as of `new_name_fault`."""
    _check(name, new_name_fault(name, around), purpose, where, error)


def stored_name(name: str, folder: str) -> str:
    """Return the name of a file as metadata holds it. Raises: CorruptFileError: it leads out of its folder."""
    fault = segment_fault(name)
    if fault is not None:
        raise CorruptFileError(f"metadata contains an impossible file name {name!r}: {fault}", folder, ROLL_BACK)
    return name


def relative_folder(text: str) -> str:
    """A folder below a table, without what Paimon's paths drop: ``./a//b/`` is ``a/b``. Raises: ValueError."""
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if text.startswith("/") or not parts or ":" in parts[0] or any(map(segment_fault, parts)):
        raise ValueError("expected a folder below the table, such as data")
    return "/".join(parts)


def file_prefix(text: str) -> str:
    """How names of files begin; may be empty. Raises: ValueError."""
    fault = new_name_fault(f"{text}0", around=FILE_BYTES)
    if fault is not None:
        raise ValueError(f"expected the beginning of a file name, but {fault}")
    return text


def _check(name: str, fault: str | None, purpose: str, where: str, error: type[PaimonError]) -> None:
    if fault is not None:
        shown = name if len(name) <= MAX_BYTES else f"{name[:60]}…"
        raise error(f"{shown!r} cannot be {purpose}: {fault}", where, "Choose another name.")
