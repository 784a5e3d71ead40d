"""Which storage a path belongs to. Each is opened once for its settings in a process."""

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any

from maintenance.errors import PaimonError, StorageAccessError
from maintenance.fs.hadoop_settings import SCHEMES as HDFS_SCHEMES
from maintenance.fs.hadoop_settings import cluster_of
from maintenance.fs.local_storage import LocalStorage
from maintenance.fs.location import is_local
from maintenance.fs.settings import Config, fsspec_settings, store_kind, store_settings
from maintenance.fs.storage import Storage

_LOCAL = LocalStorage()
_HDFS = "Check the path and Hadoop's settings: 'hadoop-conf-dir', 'dfs.namenode.http-address', 'fs.hdfs.token'."
_SHOWN = 300
_RETRIES = {"max_retries": 8, "retry_timeout": timedelta(seconds=60)}
_BACKOFF = {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=5), "base": 2}
_TIMEOUTS = {"timeout": timedelta(seconds=120), "connect_timeout": timedelta(seconds=10)}

Settings = tuple[tuple[str, str], ...]


def storage_of(path: str, settings: Settings) -> Storage:
    """The storage that a path belongs to.

    Raises: StorageAccessError: its driver is not installed or does not start, or nothing reads that scheme.
    """
    if is_local(path):
        return _LOCAL
    scheme, _, rest = path.partition("://")
    try:
        if store_kind(scheme) is not None:
            return _bucket(scheme, _checked_bucket(rest.partition("/")[0], path), settings, os.getpid())
        if scheme in HDFS_SCHEMES:
            return _hdfs(scheme, rest.partition("/")[0], settings)
        return _file_system(scheme, settings)
    except PaimonError:
        raise
    except Exception as error:  # noqa: BLE001 - each driver has errors of its own
        reason = (str(error).splitlines() or [type(error).__name__])[0][:_SHOWN]
        raise StorageAccessError(
            f"'{scheme}://' cannot be opened: {_without_values(reason, settings)}",
            path,
            _fix(scheme, error, [key for key, _ in settings]),
        ) from None


def _checked_bucket(name: str, path: str) -> str:
    """The name of a bucket. The driver breaks off at characters that no address can have, and tells standard error.

    Raises: StorageAccessError.
    """
    if any(sign.isspace() or not sign.isprintable() for sign in name):
        problem = f"the bucket {name!r} has a blank or a character that cannot be shown"
        raise StorageAccessError(problem, path, "Correct the name of the bucket in the path.")
    return name


@lru_cache(maxsize=256)
def _bucket(scheme: str, name: str, settings: Settings, process: int) -> Storage:
    """The bucket of a store. `process`: the driver's threads are those of one process."""
    _only_here(process, f"{scheme}://{name}")
    from maintenance.fs.object_storage import ObjectStorage

    kind = store_kind(scheme)
    config = store_settings(scheme, dict(settings))
    config["retry_config"] = {**_RETRIES, "backoff": _BACKOFF, **config.get("retry_config", {})}
    config["client_options"] = {**_TIMEOUTS, **config.get("client_options", {})}
    opened = {"s3": _s3, "oss": _oss, "gs": _gs, "azure": _azure}[str(kind)](name, config)
    return ObjectStorage(opened, f"{scheme}://{name}", config)


def _s3(bucket: str, config: Config) -> Any:
    from obstore.store import S3Store

    from maintenance.fs.aws_profile import profile_settings

    for name, value in profile_settings(config).items():
        config.setdefault(name, value)
    if config.get("virtual_hosted_style_request") and "endpoint" in config:
        _put_bucket_into_host(bucket, config)
    return S3Store(bucket, **config)


def _oss(bucket: str, config: Config) -> Any:
    """OSS speaks S3's language, with the bucket in the host's name."""
    from obstore.store import S3Store

    if "endpoint" not in config:
        raise ValueError("'fs.oss.endpoint' is not set")
    config.setdefault("region", oss_region(config["endpoint"]))
    if config.setdefault("virtual_hosted_style_request", True):
        _put_bucket_into_host(bucket, config)
    return S3Store(bucket, **config)


def oss_region(endpoint: str) -> str:
    """The region that an endpoint of OSS names: ``https://s3.oss-cn-hangzhou-internal.aliyuncs.com`` → `cn-hangzhou`.

    Requests are signed for it. An endpoint that names none, such as one of a company's own, gives its first part.
    """
    labels = endpoint.partition("://")[2].partition(":")[0].split(".")
    named = next((label for label in labels if label.startswith("oss-")), labels[0])
    return named.removeprefix("oss-").removesuffix("-internal")


def _put_bucket_into_host(bucket: str, config: Config) -> None:
    """The bucket becomes the first part of the endpoint's host, unless that is not a valid name."""
    scheme, _, host = config["endpoint"].partition("://")
    if host.partition(":")[0] == "localhost" or host[:1].isdigit() or host.startswith("["):
        config["virtual_hosted_style_request"] = False
    elif not host.startswith(f"{bucket}."):
        config["endpoint"] = f"{scheme}://{bucket}.{host}"


def _gs(bucket: str, config: Config) -> Any:
    from obstore.store import GCSStore

    return GCSStore(bucket, **config)


def _azure(name: str, config: Config) -> Any:
    """`name`: ``container``, or ``container@account.dfs.core.windows.net``."""
    from obstore.store import AzureStore

    container, _, host = name.partition("@")
    if host:
        config["account_name"] = host.partition(".")[0]
    return AzureStore(container, **config)


@lru_cache(maxsize=64)
def _hdfs(scheme: str, authority: str, settings: Settings) -> Storage:
    from maintenance.fs.hdfs_storage import HdfsStorage
    from maintenance.fs.webhdfs import WebHdfs

    return HdfsStorage(WebHdfs(cluster_of(scheme, authority, dict(settings)), f"{scheme}://{authority}"))


@lru_cache(maxsize=64)
def _file_system(scheme: str, settings: Settings) -> Storage:
    import fsspec

    from maintenance.fs.fsspec_storage import FsspecStorage

    return FsspecStorage(fsspec.filesystem(scheme, **fsspec_settings(dict(settings))))


def _only_here(process: int, path: str) -> None:
    """Raises: StorageAccessError: a process that used stores was forked: in the new one the driver waits for ever."""
    _OPENED.add(process)
    if len(_OPENED) > 1:
        raise StorageAccessError(
            "this process was forked from one that has used object stores, and cannot use them",
            path,
            "Start such processes with multiprocessing.get_context('spawn').",
        )


_OPENED: set[int] = set()


def _without_values(reason: str, settings: Settings) -> str:
    """The text without what the settings say: some of them are secrets."""
    for _, value in settings:
        if len(value) > 3:
            reason = reason.replace(value, "...")
    return reason


def _fix(scheme: str, error: Exception, settings: Sequence[str]) -> str:
    from fsspec.registry import available_protocols, known_implementations

    known: Mapping[str, Any] = known_implementations
    if store_kind(scheme) is None and scheme not in HDFS_SCHEMES and scheme not in available_protocols():
        return "Use a path on disk, or one of s3://, oss://, gs://, abfs:// and hdfs://."
    if scheme in HDFS_SCHEMES:
        return _HDFS
    if isinstance(error, ImportError):
        return f"Install its driver where this runs, on executors too: {known.get(scheme, {}).get('class', 'obstore')}."
    given = ", ".join(f"fs.{key}" for key in settings)
    return (
        f"Check the catalog options {given}." if given else "Check the store and its settings, catalog options 'fs.*'."
    )
