"""What errors of store drivers mean. Drivers raise many kinds; those of S3 carry the store's own code."""

from maintenance.errors import StorageAccessError

_DRIVERS = frozenset(
    {"botocore", "aiobotocore", "aiohttp", "s3fs", "gcsfs", "google", "adlfs", "azure", "ossfs", "oss2", "requests"}
)
_BUSY = frozenset({"ConditionalRequestConflict", "OperationAborted", "409"})


def is_of_store(error: BaseException) -> bool:
    """Whether an exception is one of a driver, and not of Python."""
    return any(kind.__module__.partition(".")[0] in _DRIVERS for kind in type(error).__mro__)


def is_busy(error: BaseException) -> bool:
    """Whether another request on the same name was under way, so that the store did nothing."""
    return _code(error) in _BUSY


def check_bucket(error: BaseException, path: str) -> None:
    """A missing bucket is not an empty folder. Raises: StorageAccessError."""
    if _code(error) == "NoSuchBucket":
        bucket = path.partition("://")[2].partition("/")[0]
        raise StorageAccessError(
            f"the bucket '{bucket}' does not exist", path, "Create it, or correct the warehouse or the endpoint."
        ) from error


def _code(error: BaseException) -> str | None:
    for each in (error, error.__cause__):
        response = getattr(each, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code"))
    return None
