"""What the errors of object stores mean.

The driver's texts hold whole answers and addresses, which may have a signature in them. So only the status, the store's
code and its message are taken from them, and the driver's own error is not shown.
"""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from obstore import exceptions

from maintenance.errors import StorageAccessError, StorageError, storage_fix

_STATUS = re.compile(r"status code: (\d{3})|status: (\d{3})")
# A request that deletes many objects is answered by 200, with a message and a code for each that stays.
_CODE = re.compile(r"<Code>([^<]{1,100})</Code>|request failed for key [^\n]*\(code: (\w{1,100})\)")
_MESSAGE = re.compile(r"<Message>([^<\n]{1,300})|request failed for key [^\n]*: ([^\n:]{1,300}) \(code: ")
_NO_BUCKET = frozenset({"NoSuchBucket", "ContainerNotFound", "InvalidBucketName", "UserProjectMissing"})
_NO_ACCESS = frozenset({401, 403})
_NO_ACCESS_CODES = frozenset({"AccessDenied", "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch"})
_BEHIND_THE_END = 416
_REDIRECT = "redirect without LOCATION"
_MOVED = frozenset({301, 307, 308})
_REGION_CODES = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"})
_WRONG_REGION = "Set the region that the bucket is in, or its endpoint: for S3 's3.region' and 's3.endpoint'."
_KEYS = "Check the keys or the role that this process uses, and what they may do there."
_UNREACHABLE = "Check the endpoint and the network between this process and the store."
_CREDENTIALS = re.compile(r"credential|\btoken\b|metadata\.google|169\.254\.169\.254|private key", re.IGNORECASE)
_REPEATED_STATUS = frozenset({408, 409, 425, 429})
_REFUSALS = (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, exceptions.NotSupportedError)


def status_of(error: BaseException) -> int | None:
    """The status that the store answered with, None if it did not answer."""
    match = _STATUS.search(str(error))
    return int(match[1] or match[2]) if match else None


def is_behind_the_end(error: BaseException) -> bool:
    """Whether the part that was asked for begins at the end of the file or later; some stores then send all of it."""
    return status_of(error) == _BEHIND_THE_END or "Wanted range starting at" in str(error)


def is_refused(error: BaseException) -> bool:
    """Whether the store said that this process may not do it, so that it was not done."""
    if isinstance(error, _REFUSALS) or status_of(error) in _NO_ACCESS | _MOVED:
        return True
    return _found(_CODE, str(error)) in _NO_ACCESS_CODES


def is_worth_repeating(error: BaseException) -> bool:
    """Whether the same request may work a moment later. A driver that gave up after its own attempts does not count."""
    if isinstance(error, exceptions.NotModifiedError | exceptions.PreconditionError | exceptions.AlreadyExistsError):
        return False
    if is_refused(error):
        return False
    status = status_of(error)
    if status is not None or _REDIRECT in str(error):
        return status in _REPEATED_STATUS
    return re.search(r"(?<!max_)retries: [1-9]", str(error)) is None and not _CREDENTIALS.search(str(error))


def is_of_store(error: BaseException) -> bool:
    """Whether an exception is one of the driver, and not of Python. A missing bucket is Python's by its type alone."""
    return isinstance(error, exceptions.BaseError) or (
        isinstance(error, FileNotFoundError) and _is_missing_bucket(str(error))
    )


def store_error(error: BaseException, path: str, action: str = "read") -> OSError:
    """The error to raise for one of the driver's: a `FileNotFoundError`, or a `StorageError`."""
    text = str(error)
    code, status = _found(_CODE, text), status_of(error)
    if _is_missing_bucket(text):
        bucket = path.partition("://")[2].partition("/")[0]
        return StorageAccessError(
            f"the bucket '{bucket}' does not exist", path, "Create it, or correct the warehouse or the endpoint."
        )
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if status in _MOVED or code in _REGION_CODES or _REDIRECT in text:
        return StorageAccessError(f"the storage cannot {action}: {_answer(text)}", path, _WRONG_REGION)
    if is_refused(error):
        return StorageAccessError(f"the storage cannot {action}: {_answer(text)}", path, _KEYS)
    if status is None and code is None and _CREDENTIALS.search(text):
        return StorageAccessError(f"the storage cannot {action}: there are no credentials that work", path, _KEYS)
    if status is None and code is None:
        return StorageError(f"the storage cannot {action}: {_reason(text)}", path, _UNREACHABLE)
    return StorageError(f"the storage cannot {action}: {_answer(text)}", path, storage_fix(OSError()))


@contextmanager
def reported_store_errors(action: str, path: str) -> Iterator[None]:
    """Errors of the driver inside are the project's."""
    try:
        yield
    except exceptions.BaseError as error:
        raise store_error(error, path, action) from None


def _is_missing_bucket(text: str) -> bool:
    return _found(_CODE, text) in _NO_BUCKET or "specified bucket does not exist" in text


def _answer(text: str) -> str:
    if _REDIRECT in text:
        return "it sends this process elsewhere"
    status, code, message = _found(_STATUS, text), _found(_CODE, text), _found(_MESSAGE, text)
    said = ": ".join(part for part in (code, message) if part)
    answer = f"it answered {status}" if status else "it refused"
    return f"{answer}, {said.rstrip('.')}" if said else answer


def _reason(text: str) -> str:
    """Why there was no answer, in the words of the innermost cause."""
    for known in ("timed out", "refused", "dns error", "reset", "closed", "certificate"):
        if known in text.lower():
            return "its name is unknown" if known == "dns error" else f"connection {known}"
    return "no answer"


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return next((group for group in match.groups() if group), None) if match else None
