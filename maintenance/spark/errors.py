"""Carry errors of tasks back through Spark, and turn errors of Spark and other libraries into this engine's errors.

Spark turns an exception of a Python worker into text: the worker's stack trace inside a Java one. So a task adds a note
to an error of this engine, a line of JSON that Python prints below the error; on the driver `error_of_task` finds that
line and restores the error from it, with Spark's as its cause. `as_paimon_error` does this for any exception.
"""

import builtins
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from maintenance import errors
from maintenance.errors import (
    RESTORE,
    CorruptFileError,
    DataError,
    ErrorClass,
    InfrastructureError,
    OptionError,
    PaimonError,
    UnexpectedError,
    class_of,
)

_MARK = "paimon-error: "
_NOTE = re.compile(re.escape(_MARK) + r"(\{.*\})")
_TRACEBACK = "Traceback (most recent call last):"
# The last line of a Python stack trace: the class of the exception, with its module unless it is one of Python's own.
_RAISED = re.compile(r"^((?:\w+\.)*\w+): (.*)$", re.MULTILINE)
_JAVA = re.compile(r"^\s*(?:at |\.\.\. \d+ more|Caused by: )|^\s*JVM stacktrace:|^Driver stacktrace:", re.MULTILINE)
_CALLED = re.compile(r"^An error occurred while calling [\w.]+\.\s*:\s*")
# Spark's exceptions for what users write in filters and expressions, and for the values these meet.
_USER = frozenset(
    {
        "AnalysisException",
        "ArithmeticException",
        "ArrayIndexOutOfBoundsException",
        "DateTimeException",
        "IllegalArgumentException",
        "NumberFormatException",
        "ParseException",
        "SparkNoSuchElementException",
        "SparkRuntimeException",
        "UnsupportedOperationException",
    }
)
# What a Python worker raises that cannot import what a task needs, or is of another version.
_NO_MODULE = re.compile(r"ModuleNotFoundError: (No module named '[\w.]+')")
_NO_PACKAGE = re.compile(r"\[(?:PACKAGE_NOT_INSTALLED|UNSUPPORTED_PACKAGE_VERSION|PYTHON_VERSION_MISMATCH)\] ([^\n]*)")
_NO_TIMES = "[UNSUPPORTED_TIME_TYPE]"
_LONGEST = 400
_FIXES = {
    ErrorClass.USER: "Correct what the message names, then run it again.",
    ErrorClass.INFRASTRUCTURE: "Check the storage, network or Spark named here, then run it again. What was committed "
    "stays.",
    ErrorClass.DAMAGE: RESTORE,
    ErrorClass.DEFECT: "Report this with the stack trace. What was committed stays.",
}
_OWN = {
    ErrorClass.USER: DataError,
    ErrorClass.INFRASTRUCTURE: InfrastructureError,
    ErrorClass.DAMAGE: CorruptFileError,
    ErrorClass.DEFECT: UnexpectedError,
}


@contextmanager
def errors_marked() -> Iterator[None]:
    """In a task: errors of this engine get the note by which the driver knows them again."""
    try:
        yield
    except PaimonError as error:
        parts = {"class": type(error).__name__, "found": error.found, "where": error.where, "fix": error.fix}
        error.add_note(_MARK + json.dumps(parts))
        raise


@contextmanager
def errors_of_tasks() -> Iterator[None]:
    """On the driver: an error of this engine that a task raised comes back as itself, with Spark's as its cause.

    Raises: OptionError: the Python of the tasks lacks packages, or is another one.
    """
    try:
        yield
    except PaimonError:
        raise
    except Exception as error:
        original = error_of_task(error)
        if original is None:
            raise
        raise original from error


def error_of_task(error: BaseException) -> PaimonError | None:
    """The error of this engine that a task raised, or that kept it from running; None where `error` is not Spark's
    account of one.
    """
    if not _is_of_spark(error):
        return None
    for note in _NOTE.findall(str(error)):
        try:
            parts = json.loads(note)
            kind: type[PaimonError] = getattr(errors, parts["class"], PaimonError)
            return kind(parts["found"], parts["where"], parts["fix"])
        except (ValueError, KeyError, TypeError):
            continue
    return _error_of_session(str(error))


def _error_of_session(text: str) -> OptionError | None:
    """What the session lacks, if that is what Spark's exception tells."""
    if _NO_TIMES in text:
        return OptionError(
            "Spark Connect sends no columns of type TIME in this session",
            "the Spark session",
            "Set 'spark.sql.timeType.enabled' = 'true' in it, or leave them out.",
        )
    found = _NO_MODULE.search(text) or _NO_PACKAGE.search(text)
    if found is None:
        return None
    return OptionError(
        f"the Python workers of Spark cannot run the task: {found[1].rstrip('.')}",
        "the Spark session",
        "Set PYSPARK_PYTHON, or 'spark.pyspark.python', to a Python that has this package and what its "
        "requirements.txt lists before Spark starts, or make the session with maintenance.spark.session.get_session.",
    )


def as_paimon_error(error: BaseException, where: str) -> PaimonError:
    """Any exception as an error of this engine: itself if it is one, else one of its class that says what it says.

    Args: `where`: the place, for an exception that does not name one.
    """
    if isinstance(error, PaimonError):
        return error
    of_task = error_of_task(error)
    if of_task is not None:
        return of_task
    kind, line = _class_and_line(error)
    return _OWN[kind](line[:_LONGEST], where, _FIXES[kind])


def _class_and_line(error: BaseException) -> tuple[ErrorClass, str]:
    """The class of an exception of another library, and what it says in one line."""
    text = str(error).strip()
    if not _is_of_spark(error):
        return class_of(error), f"{type(error).__name__}: {text.splitlines()[0] if text else 'no message'}"
    raised = _raised_in_python(text)
    if raised is not None:
        name, message = raised
        kind: Any = getattr(builtins, name, None)
        is_exception = isinstance(kind, type) and issubclass(kind, Exception)
        return class_of(kind()) if is_exception else ErrorClass.INFRASTRUCTURE, f"{name.rpartition('.')[2]}: {message}"
    first = _CALLED.sub("", text) or text
    line = next((part.strip() for part in first.splitlines() if part.strip()), "no message")
    names = {kind.__name__ for kind in type(error).__mro__}
    user = bool(names & _USER)
    return ErrorClass.USER if user else ErrorClass.INFRASTRUCTURE, f"{type(error).__name__}: {line}"


def _raised_in_python(text: str) -> tuple[str, str] | None:
    """Class and message of the exception of a Python worker, if the text of Spark's exception holds its stack trace."""
    _, _, trace = text.rpartition(_TRACEBACK)
    if not trace or _TRACEBACK not in text:
        return None
    java = _JAVA.search(trace)
    match = _RAISED.search(trace[: java.start()] if java else trace)
    return (match[1], match[2].strip()) if match else None


def _is_of_spark(error: BaseException) -> bool:
    """Without importing Spark, which processes without a session do not need."""
    return any(kind.__module__.partition(".")[0] in ("pyspark", "py4j", "grpc") for kind in type(error).__mro__)
