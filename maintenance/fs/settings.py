"""Settings of stores: Paimon's option names, and names of the fsspec drivers, as what the drivers take.

`s3.endpoint` and `fs.s3a.endpoint` mean the same, as in Paimon: what stands behind the name of the store is looked up
without the difference between ``-`` and ``.``. Other names are the driver's own, given as `fs.<name>`.
"""

import json
import logging
from collections.abc import Mapping
from typing import Any

_LOG = logging.getLogger(__name__)
_FS = "fs."
_S3 = {
    "endpoint": "endpoint_url", "access.key": "key", "secret.key": "secret", "session.token": "token",
    "access.key.id": "key", "access.key.secret": "secret", "connection.ssl.enabled": "use_ssl",
}  # fmt: skip
_OSS = {"endpoint": "endpoint", "accesskeyid": "key", "accesskeysecret": "secret", "securitytoken": "token"}
_GS = {"auth.service.account.json.keyfile": "token", "project.id": "project"}
_NAMES: Mapping[str, Mapping[str, str]] = {"s3": _S3, "oss": _OSS, "gs": _GS, "azure": {}}
# Names of stores in options and schemes of paths -> the store.
_STORES: Mapping[str, str] = {
    "s3": "s3", "s3a": "s3", "oss": "oss", "gs": "gs", "gcs": "gs", "azure": "azure", "abfs": "azure", "abfss": "azure",
    "az": "azure",
}  # fmt: skip
_PATH_STYLE, _REGIONS = "path.style.access", ("region", "endpoint.region")
_ACCOUNT_KEY = "account.key."
# Texts, whatever they look like: an access key may be all digits.
_TEXTS = frozenset(
    {
        "key", "secret", "token", "password", "username", "endpoint_url", "endpoint", "project", "account_name",
        "account_key", "connection_string", "sas_token", "user", "host",
    }
)  # fmt: skip


def store_kind(scheme: str) -> str | None:
    """The object store that a scheme belongs to, None for any other file system."""
    return _STORES.get(scheme)


def settings_of(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The settings among catalog options, sorted; without the `fs.` in front of some."""
    stores = tuple(f"{name}." for name in _STORES)
    found = {key.removeprefix(_FS): value for key, value in options.items() if key.startswith((_FS, *stores))}
    return tuple(sorted(found.items()))


def driver_settings(scheme: str, settings: Mapping[str, str]) -> dict[str, Any]:
    """What the driver of a scheme takes. Settings of other stores are left out.

    Raises: ValueError: a setting that has to be JSON is not.
    """
    kind = store_kind(scheme)
    own: dict[str, Any] = {} if kind is None else {"use_listings_cache": False}
    unknown = []
    for name, text in settings.items():
        store, dot, rest = name.partition(".")
        if not dot or store not in _STORES:
            own[name] = _typed(name, text)
        elif _STORES[store] == kind and not _take(own, kind, rest, text):
            unknown.append(name)
    if unknown:
        _LOG.warning(
            "settings of %s:// that its driver here does not have are not used: %s", scheme, ", ".join(unknown)
        )
    return own


def _take(own: dict[str, Any], kind: str, name: str, text: str) -> bool:
    """Put one of Paimon's settings among the driver's. False if the driver has no such setting."""
    plain = name.replace("-", ".").lower()
    if kind == "azure" and plain.startswith(_ACCOUNT_KEY):
        own["account_name"], own["account_key"] = name[len(_ACCOUNT_KEY) :].partition(".")[0], text
    elif kind == "s3" and plain == _PATH_STYLE:
        style = "path" if text.strip().lower() == "true" else "auto"
        own["config_kwargs"] = {**own.get("config_kwargs", {}), "s3": {"addressing_style": style}}
    elif kind == "s3" and plain in _REGIONS:
        own["client_kwargs"] = {**own.get("client_kwargs", {}), "region_name": text}
    elif kind == "s3" and plain == "endpoint":
        own["endpoint_url"] = text if "://" in text else f"https://{text}"
    elif plain in _NAMES[kind]:
        driver = _NAMES[kind][plain]
        own[driver] = _typed(driver, text)
    else:
        return False
    return True


def _typed(name: str, text: str) -> Any:
    """A text as what it says: true, false, a number, or a JSON object or list."""
    plain = text.strip()
    if name in _TEXTS:
        return text
    if plain.lower() in ("true", "false"):
        return plain.lower() == "true"
    if plain.isdecimal():
        return int(plain)
    if plain[:1] in ("{", "["):
        try:
            return json.loads(plain)
        except ValueError as error:
            raise ValueError(f"'{name}' is not valid JSON: {error}") from None
    return text
