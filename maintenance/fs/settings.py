"""Settings of stores among catalog options: Paimon's names, and the driver's own as `fs.<name>`.

`s3.endpoint` and `fs.s3a.endpoint` mean the same, as in Paimon: what stands behind the name of the store is looked up
without the difference between ``-`` and ``.``. What is not given comes from the environment, as the store's own tools
take it.
"""

import json
import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from maintenance.fs.hadoop_settings import is_hadoop_setting

_LOG = logging.getLogger(__name__)
_FS = "fs."
# Names of stores in options and schemes of paths -> the store.
_STORES: Mapping[str, str] = {
    "s3": "s3", "s3a": "s3", "oss": "oss", "gs": "gs", "gcs": "gs", "azure": "azure", "abfs": "azure", "abfss": "azure",
    "az": "azure", "wasb": "azure", "wasbs": "azure",
}  # fmt: skip
_ANONYMOUS = ("anonymousawscredentialsprovider", "unauthenticated")
_TOKEN_ADDRESS = "oauth2.client.endpoint"

Config = dict[str, Any]


def store_kind(scheme: str) -> str | None:
    """The object store that a scheme belongs to, None for any other file system."""
    return _STORES.get(scheme)


def settings_of(options: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The settings among catalog options, sorted; without the `fs.` in front of some."""
    stores = tuple(f"{name}." for name in _STORES)
    settings = {
        key.removeprefix(_FS): value
        for key, value in options.items()
        if key.startswith((_FS, *stores)) or is_hadoop_setting(key)
    }
    return tuple(sorted(settings.items()))


def fsspec_settings(settings: Mapping[str, str]) -> Config:
    """What an fsspec driver takes: settings of object stores and of Hadoop are left out.

    Raises: ValueError: a setting that has to be JSON is not.
    """
    own = {name: text for name, text in settings.items() if name.partition(".")[0] not in _STORES}
    return {name: typed(text) for name, text in own.items() if not is_hadoop_setting(name)}


def store_settings(scheme: str, settings: Mapping[str, str]) -> Config:
    """What the driver of an object store takes, for one of its schemes. Settings of other stores are left out.

    Raises: ValueError: a setting is not of its type.
    """
    kind = _STORES[scheme]
    config: Config = {}
    unknown = []
    # What all drivers share stands first, so that what names the store wins.
    for name, text in sorted(settings.items(), key=lambda setting: setting[0].partition(".")[0] in _STORES):
        store, dot, rest = name.partition(".")
        own = bool(dot) and store in _STORES
        if (own and _STORES[store] != kind) or is_hadoop_setting(name):
            continue
        plain = (rest if own else name).replace("-", ".").replace("_", ".").lower()
        if not _take(config, kind, plain, text):
            unknown.append(name)
    if unknown:
        _LOG.warning("settings of %s:// that have no meaning here are not used: %s", scheme, ", ".join(unknown))
    if str(config.get("endpoint", config.get("base_url", ""))).startswith("http://"):
        _client(config)["allow_http"] = True
    return config


def _take(config: Config, kind: str, name: str, text: str) -> bool:
    """Put one setting into the driver's. `name`: with dots alone. False if it has no meaning."""
    known = _NAMES[kind].get(name) or _SHARED.get(name)
    if isinstance(known, str):
        config[known] = text
        return True
    if known is not None:
        known(config, text)
        return True
    return kind == "azure" and _take_azure(config, name, text)


def _take_azure(config: Config, name: str, text: str) -> bool:
    """Settings of Azure may end with the account's host, such as ``lake.dfs.core.windows.net``."""
    for start, key in _AZURE_STARTS.items():
        if name == start or name.startswith(f"{start}."):
            host = name[len(start) + 1 :]
            if host:
                config["account_name"] = host.partition(".")[0]
            if key is not None:
                config[key] = _tenant(text) if start.endswith(_TOKEN_ADDRESS) else text
            return True
    return False


def typed(text: str) -> Any:
    """A text as what it says: true, false, a number, or a JSON object or list."""
    plain = text.strip()
    if plain.lower() in ("true", "false"):
        return plain.lower() == "true"
    if plain.isdecimal() and (plain == "0" or plain[0] != "0"):
        return int(plain)
    if plain[:1] in ("{", "["):
        try:
            return json.loads(plain)
        except ValueError as error:
            raise ValueError(f"expected JSON: {error}") from None
    return text


def _flag(text: str) -> bool:
    plain = text.strip().lower()
    if plain not in ("true", "false"):
        raise ValueError(f"expected true or false, found '{text}'")
    return plain == "true"


def _client(config: Config) -> Config:
    client: Config = config.setdefault("client_options", {})
    return client


def _endpoint(config: Config, text: str) -> None:
    config["endpoint"] = (text if "://" in text else f"https://{text}").rstrip("/")


def _path_style(config: Config, text: str) -> None:
    config["virtual_hosted_style_request"] = not _flag(text)


def _provider(config: Config, text: str) -> None:
    if text.strip().lower().endswith(_ANONYMOUS):
        config["skip_signature"] = True


def _anonymous(config: Config, text: str) -> None:
    if _flag(text):
        config["skip_signature"] = True


def _without_tls(config: Config, text: str) -> None:
    if not _flag(text):
        _client(config)["allow_http"] = True


def _attempts(config: Config, text: str) -> None:
    config.setdefault("retry_config", {})["max_retries"] = int(text)


def _milliseconds(name: str) -> Callable[[Config, str], None]:
    def take(config: Config, text: str) -> None:
        _client(config)[name] = timedelta(milliseconds=int(text))

    return take


def _client_kwargs(config: Config, text: str) -> None:
    """Settings of boto's client, as s3fs takes them."""
    given = typed(text)
    if not isinstance(given, dict):
        raise ValueError("expected a JSON object")
    for name, value in given.items():
        if name == "region_name":
            config["region"] = str(value)
        elif name == "endpoint_url":
            _endpoint(config, str(value))
        elif name == "verify":
            _client(config)["allow_invalid_certificates"] = not value
        else:
            raise ValueError(f"'{name}' has no meaning here")


def _config_kwargs(config: Config, text: str) -> None:
    """Settings of boto's configuration, as s3fs takes them."""
    given = typed(text)
    if not isinstance(given, dict):
        raise ValueError("expected a JSON object")
    for name, value in given.items():
        if name == "retries":
            config.setdefault("retry_config", {})["max_retries"] = int(value.get("max_attempts", 0))
        elif name in ("connect_timeout", "read_timeout"):
            _client(config)[name] = timedelta(seconds=float(value))
        elif name == "s3":
            config["virtual_hosted_style_request"] = value.get("addressing_style") == "virtual"
        elif name == "region_name":
            config["region"] = str(value)
        else:
            raise ValueError(f"'{name}' has no meaning here")


def _ignored(config: Config, text: str) -> None:
    """What is about threads, buffers and caches of another client."""
    del config, text


def _tenant(address: str) -> str:
    """The tenant of an address such as ``https://login.microsoftonline.com/TENANT/oauth2/token``."""
    return address.partition("://")[2].split("/")[1] if address.count("/") > 2 else address


def _account_endpoint(config: Config, text: str) -> None:
    config["endpoint"] = text.rstrip("/")


Taken = str | Callable[[Config, str], None]

_SHARED: Mapping[str, Taken] = {
    "allow.http": lambda config, text: _client(config).update(allow_http=_flag(text)),
    "allow.invalid.certificates": lambda config, text: _client(config).update(allow_invalid_certificates=_flag(text)),
    "proxy.url": lambda config, text: _client(config).update(proxy_url=text),
    "max.retries": _attempts, "attempts.maximum": _attempts, "connection.timeout": _milliseconds("timeout"),
    "connection.establish.timeout": _milliseconds("connect_timeout"), "skip.signature": _anonymous, "anon": _anonymous,
    "max.concurrency": _ignored, "connection.maximum": _ignored, "use.listings.cache": _ignored,
    "asynchronous": _ignored, "impl": _ignored, "fast.upload": _ignored, "fast.upload.buffer": _ignored,
    "threads.max": _ignored, "impl.disable.cache": _ignored,
}  # fmt: skip
_S3: Mapping[str, Taken] = {
    "endpoint": _endpoint, "endpoint.url": _endpoint, "path.style.access": _path_style,
    "access.key": "access_key_id", "access.key.id": "access_key_id", "key": "access_key_id",
    "secret.key": "secret_access_key", "access.key.secret": "secret_access_key", "secret": "secret_access_key",
    "secret.access.key": "secret_access_key", "session.token": "session_token", "token": "session_token",
    "region": "region", "endpoint.region": "region", "aws.credentials.provider": _provider,
    "connection.ssl.enabled": _without_tls, "use.ssl": _without_tls, "client.kwargs": _client_kwargs,
    "config.kwargs": _config_kwargs, "request.payer": "request_payer", "server.side.encryption.algorithm": _ignored,
}  # fmt: skip
_OSS: Mapping[str, Taken] = {
    "endpoint": _endpoint, "accesskeyid": "access_key_id", "accesskeysecret": "secret_access_key",
    "securitytoken": "session_token", "region": "region", "key": "access_key_id", "secret": "secret_access_key",
    "path.style.access": _path_style,
}  # fmt: skip
_GS: Mapping[str, Taken] = {
    "auth.service.account.json.keyfile": "service_account", "service.account": "service_account",
    "service.account.key": "service_account_key", "token": "service_account", "endpoint.url": "base_url",
    "storage.root.url": "base_url", "base.url": "base_url", "auth.type": _provider,
    "project.id": _ignored, "project": _ignored,
}  # fmt: skip
_AZURE: Mapping[str, Taken] = {
    "account.name": "account_name", "endpoint": _account_endpoint, "sas.token": "sas_key", "sas.key": "sas_key",
    "client.id": "client_id", "client.secret": "client_secret", "tenant.id": "tenant_id",
}  # fmt: skip
_NAMES: Mapping[str, Mapping[str, Taken]] = {"s3": _S3, "oss": _OSS, "gs": _GS, "azure": _AZURE}
_AZURE_STARTS: Mapping[str, str | None] = {
    "account.key": "account_key", "sas.fixed.token": "sas_key", "account.oauth2.client.id": "client_id",
    "account.oauth2.client.secret": "client_secret", f"account.{_TOKEN_ADDRESS}": "tenant_id",
    "account.oauth2.msi.tenant": "tenant_id", "account.auth.type": None, "account.oauth.provider.type": None,
    "sas.token.provider.type": None,
}  # fmt: skip
