"""Where a Hive metastore is."""

from pathlib import Path

import pytest

from maintenance.errors import OptionError, UnsupportedError
from maintenance.metastore.hive.settings import HiveSettings

SITE = """<configuration>
<property><name>hive.metastore.uris</name><value>thrift://a:1,thrift://b</value></property>
<property><name>hive.metastore.warehouse.dir</name><value>/site</value></property>
</configuration>"""


@pytest.fixture
def conf(tmp_path: Path) -> str:
    (tmp_path / "hive-site.xml").write_text(SITE)
    return str(tmp_path)


def test_the_site_file_says_where(conf: str) -> None:
    assert HiveSettings.of({"hive-conf-dir": conf}) == HiveSettings((("a", 1), ("b", 9083)), "/site")


def test_the_environment_names_the_folder(conf: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVE_CONF_DIR", conf)
    assert HiveSettings.of({}).warehouse == "/site"


def test_options_win_over_the_site_file(conf: str) -> None:
    given = {"hive-conf-dir": conf, "uri": "thrift://c:3", "warehouse": "/mine"}
    assert HiveSettings.of(given) == HiveSettings((("c", 3),), "/mine")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"warehouse": "/w"}, "'uri' is not set"),
        ({"uri": "thrift://a:1"}, "'warehouse' is not set"),
        ({"uri": "http://a:1", "warehouse": "/w"}, "is not an address"),
        ({"uri": "thrift://a:x", "warehouse": "/w"}, "is not an address"),
        ({"hive-conf-dir": "/nowhere"}, "cannot be read"),
    ],
)
def test_what_cannot_be_used_is_refused(options: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIVE_CONF_DIR", raising=False)
    with pytest.raises(OptionError, match=message):
        HiveSettings.of(options)


@pytest.mark.parametrize("key", ["hive.metastore.sasl.enabled", "hive.metastore.use.SSL"])
def test_secured_metastores_are_refused(key: str) -> None:
    with pytest.raises(UnsupportedError, match=key):
        HiveSettings.of({"uri": "thrift://a:1", "warehouse": "/w", key: "true"})
