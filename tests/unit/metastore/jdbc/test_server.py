"""What a JDBC URI means, and that no secret of it is shown."""

import logging
from pathlib import Path

import pytest

from maintenance.catalog import open_catalog
from maintenance.errors import InfrastructureError, OptionError, PaimonError
from maintenance.metastore.jdbc.server import Server

SECRET = "dont-show-me"


@pytest.mark.parametrize(
    ("uri", "server"),
    [
        ("jdbc:sqlite:/a/b.db", ("sqlite", "/a/b.db", "", 0)),
        ("jdbc:postgresql://h:1/db", ("postgresql", "db", "h", 1)),
        ("jdbc:postgresql://h/db", ("postgresql", "db", "h", 5432)),
        ("jdbc:mysql://h/db?useSSL=false", ("mysql", "db", "h", 3306)),
        ("jdbc:mariadb://h/db", ("mariadb", "db", "h", 3306)),
    ],
)
def test_a_uri_names_the_kind_database_host_and_port(uri: str, server: tuple[str, str, str, int]) -> None:
    actual = Server.of({"uri": uri})
    assert (actual.protocol, actual.database, actual.host, actual.port) == server


@pytest.mark.parametrize("uri", ["", "jdbc:nope:x", "sqlite:x", "jdbc:postgresql://h:port/db"])
def test_uris_that_cannot_be_used(uri: str) -> None:
    with pytest.raises(OptionError, match="'uri'"):
        open_catalog({"metastore": "jdbc", "uri": uri, "warehouse": "/tmp/w"})


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    inside = {"uri": f"jdbc:postgresql://127.0.0.1:1/db?user=u&password={SECRET}"}
    beside = {"uri": "jdbc:mysql://127.0.0.1:1/db", "jdbc.user": "u", "jdbc.password": SECRET}
    for options in (inside, beside):
        assert SECRET not in repr(Server.of(options))
        with pytest.raises(PaimonError) as caught:
            open_catalog({"metastore": "jdbc", "warehouse": str(tmp_path), **options})
        assert SECRET not in str(caught.value)


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="cannot be opened"):
        open_catalog({"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/no/c.db", "warehouse": str(tmp_path)})


def test_parameters_of_another_driver_are_named(caplog: pytest.LogCaptureFixture) -> None:
    server = Server.of({"uri": "jdbc:mysql://h/db?serverTimezone=UTC&useSSL=false"})
    with caplog.at_level(logging.WARNING):
        server.warn_of_unknown()
    assert "serverTimezone" in caplog.text
    assert "useSSL" not in caplog.text


def test_a_database_in_memory(tmp_path: Path) -> None:
    catalog = open_catalog({"metastore": "jdbc", "uri": "jdbc:sqlite::memory:", "warehouse": str(tmp_path)})
    catalog.create_database("db", ignore_if_exists=True)
    assert catalog.list_databases() == ["db"]
    catalog.close()
