"""Where the metastore is, and what `hive-site.xml` says. Source: Java `HiveCatalog.createHiveConf`."""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

from maintenance.errors import OptionError, UnsupportedError
from maintenance.options import catalog as catalog_options

_LOG = logging.getLogger(__name__)
_WHERE = "catalog options"
_SITE = "hive-site.xml"
_URIS, _WAREHOUSE = "hive.metastore.uris", "hive.metastore.warehouse.dir"
_SECURED = ("hive.metastore.sasl.enabled", "hive.metastore.use.SSL")
_CLIENT = "org.apache.hadoop.hive.metastore.HiveMetaStoreClient"
_PORT = 9083


@dataclass(frozen=True, slots=True)
class HiveSettings:
    """`addresses`: (host, port) of servers that serve the same metastore; `warehouse`: where databases lie."""

    addresses: tuple[tuple[str, int], ...]
    warehouse: str

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "HiveSettings":
        """Options win over `hive-site.xml`.

        Raises: OptionError: no address or warehouse, or the file cannot be read; UnsupportedError: a metastore with
            Kerberos or TLS, or another client class.
        """
        site = {**_site(options), **{key: value for key, value in options.items() if key.startswith("hive.")}}
        client = options.get("metastore.client.class", _CLIENT)
        if client != _CLIENT:
            fix = "Leave 'metastore.client.class' out, and reach the metastore by 'uri' = 'thrift://host:9083'."
            raise UnsupportedError(f"'metastore.client.class' = '{client}'", _WHERE, fix)
        for key in _SECURED:
            if site.get(key, "false").strip().lower() == "true":
                raise UnsupportedError(f"a metastore with '{key}' = 'true'", _WHERE, "Use one without Kerberos or TLS.")
        if "hadoop-conf-dir" in options:
            _LOG.warning(
                "'hadoop-conf-dir' is read for HDFS alone: give the settings of other stores as catalog options"
            )
        warehouse = catalog_options.WAREHOUSE.of(options) or site.get(_WAREHOUSE)
        if not warehouse:
            raise OptionError("'warehouse' is not set", _WHERE, f"Set it, or '{_WAREHOUSE}' in {_SITE}.")
        return cls(_addresses(catalog_options.URI.of(options) or site.get(_URIS)), warehouse)


def _addresses(uris: str | None) -> tuple[tuple[str, int], ...]:
    if not uris:
        raise OptionError("'uri' is not set", _WHERE, f"Set it to thrift://host:9083, or '{_URIS}' in {_SITE}.")
    addresses = []
    for uri in uris.split(","):
        parts = urlsplit(uri.strip())
        try:
            port = parts.port or _PORT
        except ValueError:
            port = 0
        if parts.scheme != "thrift" or not parts.hostname or not port:
            raise OptionError(f"'uri' = '{uri.strip()}' is not an address", _WHERE, "Write thrift://host:9083.")
        addresses.append((parts.hostname, port))
    return tuple(addresses)


def _site(options: Mapping[str, str]) -> dict[str, str]:
    """The properties of `hive-site.xml` in `hive-conf-dir`, or in the folder that HIVE_CONF_DIR names."""
    folder = options.get("hive-conf-dir") or os.environ.get("HIVE_CONF_DIR")
    if not folder:
        return {}
    file = Path(folder.removeprefix("file:")) / _SITE
    try:
        properties = ElementTree.parse(file).getroot().iter("property")
    except (OSError, ElementTree.ParseError) as error:
        raise OptionError(f"{_SITE} cannot be read: {error}", str(file), "Correct 'hive-conf-dir'.") from error
    pairs = ((part.findtext("name"), part.findtext("value")) for part in properties)
    return {name.strip(): (value or "").strip() for name, value in pairs if name}
