"""Where an HDFS cluster is, and as whom to reach it: Hadoop's own settings, from catalog options and its files.

As in Paimon: the files are those of `HADOOP_HOME`, `HADOOP_CONF_DIR` and the option `hadoop-conf-dir`, later ones win,
and options `hadoop.<name>` win over all files. `dfs.<name>` and `fs.defaultFS` are taken without the prefix, too.
Source: Java `HadoopUtils`.
"""

import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

CONF_DIR, CONF_LOADER = "hadoop-conf-dir", "hadoop-conf-loader"
SCHEMES = ("hdfs", "webhdfs", "swebhdfs")
_PREFIXES = ("hadoop.", "dfs.")
_DEFAULT_FS = "fs.defaultFS"
_FILES = ("core-site.xml", "hdfs-site.xml")
_LOADERS = ("all", "env", "option")
_PORTS = {"http": 9870, "https": 9871}
_ANY_HOST = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class Cluster:
    """An HDFS cluster.

    Attributes:
        addresses: of WebHDFS, such as ``http://host:9870``; several, if several namenodes take turns.
        user: whom the cluster takes this process for; None: whoever the token belongs to.
    """

    addresses: tuple[str, ...]
    user: str | None
    token: str | None = field(default=None, repr=False)


def is_hadoop_setting(name: str) -> bool:
    """Whether a setting, without the `fs.` in front of some, is one of Hadoop's and not of a store's driver."""
    own = ("hdfs.", "defaultFS", CONF_DIR, CONF_LOADER)
    return name.startswith((*_PREFIXES, *own))


def cluster_of(
    scheme: str, authority: str, settings: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> Cluster:
    """The cluster of paths ``scheme://authority/…``. `settings`: among catalog options.

    Raises: ValueError: it is not known which cluster is meant, or it wants Kerberos and there is no token.
    """
    given = {name.removeprefix("hadoop."): text for name, text in settings.items() if name.startswith(_PREFIXES)}
    if "defaultFS" in settings:
        given[_DEFAULT_FS] = settings["defaultFS"]
    merged = {**_of_files(settings, environment), **given}
    token = settings.get("hdfs.token")
    if (
        token is None
        and merged.get("hadoop.security.authentication", merged.get("security.authentication")) == "kerberos"
    ):
        raise ValueError("the cluster asks for Kerberos: set 'fs.hdfs.token' to a delegation token (hdfs fetchdt)")
    default = merged.get(_DEFAULT_FS, "")
    place = authority or default.partition("://")[2].partition("/")[0]
    if not place:
        raise ValueError("the path names no host, and 'fs.defaultFS' is not set")
    user = None if token else settings.get("hdfs.user") or environment.get("HADOOP_USER_NAME") or getpass.getuser()
    if scheme != "hdfs":
        protocol = "https" if scheme == "swebhdfs" else "http"
        return Cluster((_address(protocol, place, place),), user, token)
    return Cluster(_addresses(place, default, merged, given), user, token)


def _addresses(place: str, default: str, found: Mapping[str, str], given: Mapping[str, str]) -> tuple[str, ...]:
    """Where the namenodes behind an RPC address or a name service speak WebHDFS."""
    protocol = "https" if found.get("dfs.http.policy") == "HTTPS_ONLY" else "http"
    name = f"dfs.namenode.{protocol}-address"
    members = [member.strip() for member in found.get(f"dfs.ha.namenodes.{place}", "").split(",") if member.strip()]
    if members:
        rpc = {member: found.get(f"dfs.namenode.rpc-address.{place}.{member}", member) for member in members}
        return tuple(_address(protocol, found.get(f"{name}.{place}.{member}", ""), rpc[member]) for member in members)
    text = found.get(f"{name}.{place}", found.get(name, ""))
    # What a file says is about its own cluster.
    its_own = name in given or f"{name}.{place}" in found or default.partition("://")[2].partition("/")[0] == place
    return (_address(protocol, text if its_own or _host(text) == _host(place) else "", place),)


def _address(protocol: str, text: str, place: str) -> str:
    """`text`: an address, perhaps without its host or port. `place`: where the namenode is."""
    host = _host(text) if _host(text) not in ("", _ANY_HOST) else _host(place)
    port = text[len(_host(text)) + 1 :] or str(_PORTS[protocol])
    return f"{protocol}://{host}:{port}"


def _host(text: str) -> str:
    """The host of ``host:port``; one of IPv6 stands in brackets."""
    if text.startswith("["):
        return text.partition("]")[0] + "]"
    return text.partition(":")[0]


def _of_files(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    loader = settings.get(CONF_LOADER, "all").lower()
    if loader not in _LOADERS:
        raise ValueError(f"'{CONF_LOADER}' = '{loader}' is none of {', '.join(_LOADERS)}")
    folders: list[Path] = []
    if loader != "option":
        if home := environment.get("HADOOP_HOME"):
            folders += [Path(home, "conf"), Path(home, "etc", "hadoop")]
        if conf := environment.get("HADOOP_CONF_DIR"):
            folders.append(Path(conf))
    if loader != "env" and CONF_DIR in settings:
        folders.append(Path(settings[CONF_DIR].removeprefix("file:")))
        if not folders[-1].is_dir():
            raise ValueError(f"'{CONF_DIR}' = '{folders[-1]}' is not a folder")
    of_files: dict[str, str] = {}
    for folder in folders:
        for name in _FILES:
            of_files |= _of_file(folder / name)
    return of_files


def _of_file(file: Path) -> dict[str, str]:
    if not file.is_file():
        return {}
    try:
        root = ElementTree.parse(file).getroot()
    except ElementTree.ParseError as error:
        raise ValueError(f"{file} is not XML: {error}") from None
    pairs = ((entry.findtext("name"), entry.findtext("value")) for entry in root.iter("property"))
    return {name.strip(): value.strip() for name, value in pairs if name and value is not None}
