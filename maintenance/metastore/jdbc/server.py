"""The database that a JDBC URI names: SQLite, PostgreSQL, MySQL or MariaDB, through Python's drivers.

Parameters stand behind ``?`` of the URI or are catalog options ``jdbc.<name>``, as for Java's drivers. Those that only
Java's drivers have are named in a warning.
"""

import logging
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from maintenance.errors import InfrastructureError, OptionError, UnsupportedError
from maintenance.options import catalog as catalog_options
from maintenance.options.catalog import JDBC_PREFIX

_LOG = logging.getLogger(__name__)
_WHERE = "catalog options"
_PROTOCOLS = ("sqlite", "postgresql", "mysql", "mariadb")
_PORTS = {"postgresql": 5432, "mysql": 3306, "mariadb": 3306}
_MEMORY = ":memory:"
_BUSY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Server:
    """A database and how to reach it; a small value that travels to Spark's tasks.

    Attributes:
        protocol: as of the URI, such as ``postgresql``; `database`: its name, or the file of SQLite.
        parameters: of the URI and of the options, sorted pairs; they hold the password.
        pool_size: connections that a process keeps.
    """

    protocol: str
    database: str
    host: str = ""
    port: int = 0
    parameters: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    pool_size: int = 2

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Server":
        """Raises: OptionError: no `uri`, or not one of a supported database."""
        uri = catalog_options.URI.of(options)
        if not uri:
            raise OptionError("'uri' is not set", _WHERE, "Set it to a JDBC URI such as jdbc:postgresql://host/db.")
        protocol, _, rest = uri.removeprefix("jdbc:").partition(":")
        if not uri.startswith("jdbc:") or protocol not in _PROTOCOLS:
            raise OptionError(
                f"'uri' begins with '{uri.partition('?')[0].partition('@')[0]}', which is not a supported database",
                _WHERE,
                "Use jdbc:sqlite:, jdbc:postgresql:, jdbc:mysql: or jdbc:mariadb:.",
            )
        given = {key.removeprefix(JDBC_PREFIX): v for key, v in options.items() if key.startswith(JDBC_PREFIX)}
        size = catalog_options.CLIENT_POOL_SIZE.of(options)
        if protocol == "sqlite":
            return cls(protocol, rest.partition("?")[0], parameters=tuple(sorted(given.items())), pool_size=size)
        parts = urlsplit(f"//{rest.removeprefix('//')}")
        parameters = tuple(sorted({**dict(parse_qsl(parts.query)), **given}.items()))
        try:
            host, port = parts.hostname or "localhost", parts.port or _PORTS[protocol]
        except ValueError as error:
            fix = "Write 'uri' as jdbc:mysql://host:port/database or jdbc:postgresql://host:port/database."
            raise OptionError("'uri' has a port that is not a number", _WHERE, fix) from error
        return cls(protocol, unquote(parts.path[1:]), host, port, parameters, size)

    @property
    def place(self) -> str:
        """The database for a message, without secrets."""
        if self.protocol == "sqlite":
            return f"jdbc:sqlite:{self.database}"
        return f"jdbc:{self.protocol}://{self.host}:{self.port}/{self.database}"

    @property
    def in_memory(self) -> bool:
        return self.protocol == "sqlite" and self.database in ("", _MEMORY)

    @property
    def is_file(self) -> bool:
        return self.protocol == "sqlite" and not self.in_memory

    def connect(self) -> Any:
        """A new connection that commits every statement.

        Raises: UnsupportedError: the driver is missing; InfrastructureError: the server refuses.
        """
        opened = {"sqlite": self._sqlite, "postgresql": self._postgresql}.get(self.protocol, self._mysql)
        try:
            return opened()
        except ImportError as error:
            raise UnsupportedError(
                f"the driver of '{self.protocol}' is not installed: {error.name}",
                self.place,
                "Install it where this runs: pip install 'paimon-maintenance[jdbc]'.",
            ) from error
        except Exception as error:
            if not is_of_driver(error):
                raise
            raise InfrastructureError(
                f"the database of the catalog cannot be opened: {first_line(error)}",
                self.place,
                "Check 'uri', 'jdbc.user', 'jdbc.password' and that the server runs.",
            ) from error

    def _sqlite(self) -> Any:
        name = self.database or _MEMORY
        return sqlite3.connect(name, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)

    def _postgresql(self) -> Any:
        import psycopg

        names = {
            "user": "user", "password": "password", "sslmode": "sslmode", "ApplicationName": "application_name",
            "connectTimeout": "connect_timeout", "options": "options", "sslcert": "sslcert", "sslkey": "sslkey",
            "sslrootcert": "sslrootcert",
        }  # fmt: skip
        given = self._known({**names, "currentSchema": "options"})
        if "currentSchema" in dict(self.parameters):
            given["options"] = f"-c search_path={dict(self.parameters)['currentSchema']}"
        return psycopg.connect(host=self.host, port=self.port, dbname=self.database, autocommit=True, **given)

    def _mysql(self) -> Any:
        import pymysql

        given = self._known({"user": "user", "password": "password", "sslCa": "ssl_ca"})
        parameters = dict(self.parameters)
        if "connectTimeout" in parameters:
            given["connect_timeout"] = max(1, int(parameters["connectTimeout"]) // 1000)
        if parameters.get("useSSL") == "false" or parameters.get("sslMode") == "DISABLED":
            given["ssl_disabled"] = True
        return pymysql.connect(
            host=self.host, port=self.port, database=self.database, charset="utf8mb4", autocommit=True, **given
        )

    def _known(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Parameters under the names of the driver."""
        return {names[key]: value for key, value in self.parameters if key in names}

    def warn_of_unknown(self) -> None:
        """Name the parameters that mean nothing to the drivers used here."""
        unknown = [key for key, _ in self.parameters if key not in _KNOWN.get(self.protocol, ())]
        if unknown:
            _LOG.warning("%s: parameters only Java's driver has are not used: %s", self.place, ", ".join(unknown))


_MYSQL = ("user", "password", "sslCa", "connectTimeout", "useSSL", "sslMode", "nullDatabaseMeansCurrent")
_KNOWN: Mapping[str, tuple[str, ...]] = {
    "postgresql": (
        "user", "password", "sslmode", "ApplicationName", "connectTimeout", "options", "sslcert", "sslkey",
        "sslrootcert", "currentSchema",
    ),
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
}  # fmt: skip


def is_of_driver(error: BaseException) -> bool:
    """Whether an exception is one of a database driver."""
    return any(kind.__name__ == "Error" and kind.__module__ in _DRIVER_ERRORS for kind in type(error).__mro__)


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


_DRIVER_ERRORS = ("sqlite3", "psycopg", "pymysql.err")
