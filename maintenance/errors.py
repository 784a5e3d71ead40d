"""One family of errors. Each says what was found, where, and what the user can do."""

from typing import Self


class PaimonError(Exception):
    """Base of all errors raised on purpose.

    Args:
        found: what is wrong, with the offending value, e.g. ``snapshot 7 does not exist``.
        where: the place: table, snapshot, file, column, byte offset.
        fix: what the user can do next, a full sentence.
    """

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


class SchemaError(PaimonError):
    """A table definition or a change of it is not allowed."""


class UnsupportedError(PaimonError):
    """Paimon knows this; this engine does not support it yet."""


class CorruptFileError(PaimonError):
    """The bytes of a file are not what the format says."""


class NotFoundError(PaimonError):
    """A database, table, snapshot, tag or file that was asked for does not exist."""


class AlreadyExistsError(PaimonError):
    """A database, table, tag or file that was to be created exists."""


class PredicateError(PaimonError):
    """A filter text cannot be parsed or does not fit the table."""


class DataError(PaimonError):
    """Rows given to a writer do not fit the table, or rows read break a rule of the table."""


class ConflictError(PaimonError):
    """Another writer changed the same files; nothing was committed by this attempt."""


class CommitError(PaimonError):
    """A snapshot could not be published."""


class ProofError(PaimonError):
    """What a rewrite has written is not what its rules make of what it has read; nothing of it was committed."""
