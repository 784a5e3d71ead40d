"""Empty objects that stand for folders, whose keys end with a slash: Hadoop's stores leave them.

The driver has no such keys. But an address that ends with a bucket and a folder, asked for its root, is one.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import obstore
from obstore import exceptions
from obstore.store import GCSStore, S3Store


def delete_markers(root: str, settings: Mapping[str, Any], folders: Sequence[str]) -> None:
    """Delete what may stand for folders of a bucket; where nothing does, nothing happens. `folders`: their keys."""
    scheme, _, bucket = root.partition("://")
    for folder in folders:
        store = _store_of_folder(scheme, bucket, settings, quote(folder))
        if store is not None:
            with contextlib.suppress(FileNotFoundError, exceptions.BaseError):
                obstore.delete(store, "")


def _store_of_folder(scheme: str, bucket: str, settings: Mapping[str, Any], folder: str) -> Any:
    """A store whose root is a folder of a bucket. None if the store has no folder objects that end with a slash."""
    config = dict(settings)
    if scheme in ("gs", "gcs"):
        above, _, name = folder.rpartition("/")
        base = str(config.pop("base_url", "https://storage.googleapis.com")).rstrip("/")
        return GCSStore(name, base_url="/".join(filter(None, (base, bucket, above))), **config)
    if scheme not in ("s3", "s3a", "oss"):
        return None
    endpoint = config.pop("endpoint", None)
    virtual = config.pop("virtual_hosted_style_request", False)
    if endpoint is None:
        endpoint = f"https://s3.{config.get('region', 'us-east-1')}.amazonaws.com/{bucket}"
    elif not virtual:
        endpoint = f"{str(endpoint).rstrip('/')}/{bucket}"
    return S3Store(
        bucket, endpoint=f"{endpoint}/{folder}", virtual_hosted_style_request=True, disable_bulk_delete=True, **config
    )
