"""One family of errors. Each says what was found, where, and what the user can do.

Each error also has a class (`ErrorClass`), which says who has to act and whether trying again can help. `class_of`
gives the class of any exception.
"""

import errno
from collections.abc import Iterable
from enum import StrEnum
from typing import Self


class ErrorClass(StrEnum):
    """Who has to act on an error, and whether the same work may succeed later.

    Attributes:
        USER: what was asked for cannot be done: a wrong name, option, filter or row. Correct it.
        DAMAGE: a file of the table is missing or broken. Restore it, or go back to a state without it.
        CONFLICT: another writer was faster. The same work can be planned again on the new state.
        INFRASTRUCTURE: storage, network or Spark failed. It may work again after a while.
        DEFECT: a mistake in this program or in a library. Report it.
    """

    USER = "user"
    DAMAGE = "damage"
    CONFLICT = "conflict"
    INFRASTRUCTURE = "infrastructure"
    DEFECT = "defect"


_WORST_FIRST = (
    ErrorClass.DAMAGE,
    ErrorClass.DEFECT,
    ErrorClass.USER,
    ErrorClass.INFRASTRUCTURE,
    ErrorClass.CONFLICT,
)


class PaimonError(Exception):
    """Base of all errors raised on purpose.

    Args:
        found: what is wrong, with the offending value, e.g. ``snapshot 7 does not exist``.
        where: the place: table, snapshot, file, column, byte offset.
        fix: what the user can do next, a full sentence.
    """

    error_class = ErrorClass.DEFECT

    def __init__(self, found: str, where: str, fix: str) -> None:
        # Plain positional arguments, so that the error survives pickling between Spark's processes.
        super().__init__(found, where, fix)
        self.found = found
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.found} ({self.where}). {self.fix}"

    def at(self, where: str) -> Self:
        """The same error, seen from further out: `where` is put in front of the place."""
        return type(self)(self.found, f"{where}, {self.where}", self.fix)


class OptionError(PaimonError):
    """An option has a value that cannot be used, or options contradict each other."""

    error_class = ErrorClass.USER


class SchemaError(PaimonError):
    """A table definition or a change of it is not allowed."""

    error_class = ErrorClass.USER


class UnsupportedError(PaimonError):
    """Paimon knows this; this engine does not support it yet."""

    error_class = ErrorClass.USER


class CorruptFileError(PaimonError):
    """The bytes of a file are not what the format says."""

    error_class = ErrorClass.DAMAGE


class NotFoundError(PaimonError):
    """A database, table, partition, snapshot, tag or file that was asked for does not exist."""

    error_class = ErrorClass.USER


class MissingFileError(NotFoundError):
    """A file that the table's metadata names does not exist."""

    error_class = ErrorClass.DAMAGE


class ExpiredError(PaimonError):
    """A snapshot or tag was expired by somebody while it was read. Nothing is damaged: others can be read."""

    error_class = ErrorClass.CONFLICT


class AlreadyExistsError(PaimonError):
    """A database, table, tag or file that was to be created exists."""

    error_class = ErrorClass.USER


class PredicateError(PaimonError):
    """A filter text cannot be parsed or does not fit the table."""

    error_class = ErrorClass.USER


class DataError(PaimonError):
    """Rows given to a writer do not fit the table, or rows read break a rule of the table."""

    error_class = ErrorClass.USER


class ConflictError(PaimonError):
    """Another writer changed the same files; nothing was committed by this attempt."""

    error_class = ErrorClass.CONFLICT


class ReplayedError(ConflictError):
    """The same numbered commit of the same user was published meanwhile, by another process that replays it."""


class OutdatedPlanError(ConflictError):
    """The table has changed so that a stored plan no longer fits. A new plan is needed."""

    error_class = ErrorClass.USER


class OvertakenError(OutdatedPlanError):
    """Others have committed after a stored plan was compared with the table. It can be compared again."""


class BucketNumberError(ConflictError):
    """A partition has another number of buckets than its writer. The partition has to be rescaled first."""

    error_class = ErrorClass.USER


class CommitError(PaimonError):
    """A snapshot could not be published."""

    error_class = ErrorClass.CONFLICT


class WriteError(CommitError):
    """Storage took no more of what a commit writes: a full disk, for example. Nothing was published."""

    error_class = ErrorClass.INFRASTRUCTURE


class VisibilityError(PaimonError):
    """Rows are committed, and no compaction or index has made them visible in time. They must not be written again."""

    error_class = ErrorClass.USER


class ProofError(PaimonError):
    """What a rewrite has written is not what its rules make of what it has read; nothing of it was committed."""


class InfrastructureError(PaimonError):
    """Storage, network or Spark failed."""

    error_class = ErrorClass.INFRASTRUCTURE


class StorageError(InfrastructureError, OSError):
    """The disk or store did not do what it was asked for.

    `errno`: the number of the system's error, None if it has none.
    """

    def __init__(self, found: str, where: str, fix: str, number: int | None = None) -> None:
        super().__init__(found, where, fix)
        self.args = (found, where, fix, number)
        self.errno = number

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        return type(self), self.args

    @staticmethod
    def of(error: Exception, action: str, path: str) -> "StorageError":
        """What an error of the system means. `action`: what was tried, such as ``read``."""
        number = error.errno if isinstance(error, OSError) else None
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        no_access = number in _NO_ACCESS or isinstance(error, PermissionError)
        kind = StorageAccessError if no_access else StorageError
        return kind(f"the storage cannot {action}: {reason}", path, storage_fix(error), number)


class StorageAccessError(StorageError):
    """The disk or store will not do it as it is set up: no permission, no driver, a name that is too long."""

    error_class = ErrorClass.USER


_NO_ACCESS = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST}
)
RESTORE = (
    "Restore the file from a copy, or roll back with CALL sys.rollback_to to a snapshot or tag that does not need it."
)
ROLL_BACK = "Roll back with CALL sys.rollback_to to a snapshot or tag that is whole."
"""What to do about damaged files of a table."""
_STORAGE_FIX = "Check the storage, and run again."
_STORAGE_FIXES: dict[int | None, str] = {
    errno.EACCES: "Let this process's user read and write there.",
    errno.EPERM: "Let this process's user read and write there.",
    errno.EROFS: "Mount it for writing, or use another place.",
    errno.ENOSPC: "Free some space, and run again.",
    errno.EDQUOT: "Free some space or raise the quota, and run again.",
    errno.ENAMETOOLONG: "Use a shorter name or partition value.",
    errno.EEXIST: "Move away the file that is in the place of a folder.",
    errno.ENOTDIR: "Move away the file that is in the place of a folder.",
    errno.EISDIR: "Move away the folder that is in the place of a file.",
    errno.EMFILE: "Let this process open more files (ulimit -n).",
}


def storage_fix(error: Exception) -> str:
    """What can be done about an error of the system."""
    if isinstance(error, PermissionError) and error.errno is None:
        return "Check the keys or the role that this process uses, and what they may do there."
    return _STORAGE_FIXES.get(error.errno if isinstance(error, OSError) else None, _STORAGE_FIX)


class SqlError(PaimonError):
    """A statement cannot be understood or carried out.

    Attributes:
        line, column: position of the mistake in the text, both from 1; None: not in the text.
        excerpt: that line, with a caret under the word.
    """

    error_class = ErrorClass.USER

    def __init__(
        self,
        found: str,
        where: str,
        fix: str,
        place: tuple[int, int] | None = None,
        excerpt: str | None = None,
        error_class: ErrorClass = ErrorClass.USER,
    ) -> None:
        super().__init__(found, where, fix)
        self.args = (found, where, fix, place, excerpt, error_class)
        self.line: int | None = None if place is None else place[0]
        self.column: int | None = None if place is None else place[1]
        self.excerpt = excerpt
        self.error_class = error_class

    def __str__(self) -> str:
        shown = f"{self.found} ({self.where}). {self.fix}".strip()
        return shown if self.excerpt is None else f"{shown}\n{self.excerpt}"


class UnexpectedError(PaimonError):
    """An unexpected exception."""


# What Python itself raises for a mistake in code. Anything unknown counts as infrastructure: exceptions of storage and
# metastore drivers derive from Exception alone.
_MISTAKES_IN_CODE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


def class_of(error: BaseException) -> ErrorClass:
    """The class of any exception.

    A file that is missing without more said about it is one that metadata names: what users name is looked up first.
    """
    if isinstance(error, PaimonError):
        return error.error_class
    if isinstance(error, FileNotFoundError):
        return ErrorClass.DAMAGE
    if isinstance(error, ImportError) or (isinstance(error, OSError) and error.errno in _NO_ACCESS):
        return ErrorClass.USER
    return ErrorClass.DEFECT if isinstance(error, _MISTAKES_IN_CODE) else ErrorClass.INFRASTRUCTURE


def worst_of(errors: Iterable[PaimonError]) -> PaimonError:
    """The error that decides what several together are: trying again helps only if it can help all. First if equal."""
    return min(errors, key=lambda error: _WORST_FIRST.index(error.error_class))
