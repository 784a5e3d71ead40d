"""Where an HDFS cluster is: by the path, Hadoop's files and options."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from maintenance.errors import StorageAccessError
from maintenance.fs.file_io import FileIO
from maintenance.fs.hadoop_settings import cluster_of
from maintenance.fs.settings import fsspec_settings, settings_of, store_settings

SITE = "<?xml version='1.0'?><configuration>{}</configuration>"
HA = {
    "fs.defaultFS": "hdfs://lake",
    "dfs.nameservices": "lake",
    "dfs.ha.namenodes.lake": "nn1, nn2",
    "dfs.namenode.rpc-address.lake.nn1": "one:8020",
    "dfs.namenode.rpc-address.lake.nn2": "two:8020",
    "dfs.namenode.http-address.lake.nn1": "one:50070",
}


def site(folder: Path, name: str, **settings: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pairs = (f"<property><name>{key}</name><value>{value}</value></property>" for key, value in settings.items())
    (folder / name).write_text(SITE.format("\n".join(pairs)))


@pytest.mark.parametrize(
    ("scheme", "authority", "options", "addresses"),
    [
        ("hdfs", "nn:8020", {}, ("http://nn:9870",)),
        ("hdfs", "nn", {}, ("http://nn:9870",)),
        ("hdfs", "[::1]:8020", {}, ("http://[::1]:9870",)),
        ("hdfs", "nn:8020", {"hadoop.dfs.namenode.http-address": "web:50070"}, ("http://web:50070",)),
        ("hdfs", "nn:8020", {"dfs.namenode.http-address": "0.0.0.0:50070"}, ("http://nn:50070",)),
        ("hdfs", "nn:8020", {"dfs.http.policy": "HTTPS_ONLY"}, ("https://nn:9871",)),
        ("hdfs", "", {"fs.defaultFS": "hdfs://nn:8020/"}, ("http://nn:9870",)),
        ("hdfs", "lake", HA, ("http://one:50070", "http://two:9870")),
        ("webhdfs", "nn:1234", {}, ("http://nn:1234",)),
        ("swebhdfs", "nn", {}, ("https://nn:9871",)),
    ],
)
def test_addresses_come_from_the_path_and_the_options(
    scheme: str, authority: str, options: Mapping[str, str], addresses: tuple[str, ...]
) -> None:
    settings = dict(settings_of(options))
    assert cluster_of(scheme, authority, settings, {}).addresses == addresses


def test_files_of_hadoop_tell_addresses_of_their_own_cluster(tmp_path: Path) -> None:
    home, conf, given = tmp_path / "home" / "etc" / "hadoop", tmp_path / "conf", tmp_path / "given"
    site(home, "core-site.xml", **{"fs.defaultFS": "hdfs://home:1"})
    site(conf, "core-site.xml", **{"fs.defaultFS": "hdfs://lake"})
    site(conf, "hdfs-site.xml", **HA)
    site(given, "hdfs-site.xml", **{"dfs.namenode.http-address.lake.nn2": "two:7"})
    environment = {"HADOOP_HOME": str(tmp_path / "home"), "HADOOP_CONF_DIR": str(conf)}
    assert cluster_of("hdfs", "", {}, {"HADOOP_HOME": str(tmp_path / "home")}).addresses == ("http://home:9870",)
    assert cluster_of("hdfs", "", {}, environment).addresses == ("http://one:50070", "http://two:9870")
    all_of_them = {"hadoop-conf-dir": str(given)}
    assert cluster_of("hdfs", "lake", all_of_them, environment).addresses == ("http://one:50070", "http://two:7")
    assert cluster_of("hdfs", "lake", {**all_of_them, "hadoop-conf-loader": "option"}, environment).addresses == (
        "http://lake:9870",
    )
    # What a file says about its own cluster is not so for another one.
    site(given, "hdfs-site.xml", **{"dfs.namenode.http-address": "other:7"})
    assert cluster_of("hdfs", "nn:1", all_of_them, {}).addresses == ("http://nn:9870",)
    assert cluster_of("hdfs", "other:1", all_of_them, {}).addresses == ("http://other:7",)


def test_the_user_is_the_given_one_and_a_token_is_not_shown() -> None:
    assert cluster_of("hdfs", "nn", {}, {"HADOOP_USER_NAME": "etl"}).user == "etl"
    assert cluster_of("hdfs", "nn", {"hdfs.user": "lake"}, {"HADOOP_USER_NAME": "etl"}).user == "lake"
    with_token = cluster_of("hdfs", "nn", {"hdfs.token": "dont-show-me"}, {"HADOOP_USER_NAME": "etl"})
    assert (with_token.user, with_token.token) == (None, "dont-show-me")
    assert "dont-show-me" not in repr(with_token)


@pytest.mark.parametrize(
    ("path", "options", "reason"),
    [
        ("hdfs:///w/x", {}, "names no host, and 'fs.defaultFS' is not set"),
        ("hdfs://nn/x", {"hadoop.hadoop.security.authentication": "kerberos"}, "Kerberos: set 'fs.hdfs.token'"),
        ("hdfs://nn/x", {"hadoop-conf-loader": "some"}, "none of all, env, option"),
        ("hdfs://nn/x", {"hadoop-conf-dir": "/no/such"}, "is not a folder"),
    ],
)
def test_settings_that_lead_nowhere(
    monkeypatch: pytest.MonkeyPatch, path: str, options: Mapping[str, str], reason: str
) -> None:
    for name in ("HADOOP_HOME", "HADOOP_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(StorageAccessError, match=f"'hdfs://' cannot be opened: .*{reason}"):
        FileIO.of(options).read_bytes(path)


def test_they_mean_nothing_to_other_stores(caplog: pytest.LogCaptureFixture) -> None:
    settings = dict(settings_of({**HA, "hadoop-conf-dir": "/etc/hadoop", "hadoop.a": "b", "fs.hdfs.user": "u"}))
    assert set(settings) >= {"hadoop-conf-dir", "hadoop.a", "hdfs.user", "dfs.nameservices", "defaultFS"}
    assert (fsspec_settings(settings), store_settings("s3", settings)) == ({}, {})
    assert caplog.text == ""
