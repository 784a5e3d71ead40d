"""A PostgreSQL server of the tests, from Debian's package: on a free port of this machine, its files in a folder."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from tests.servers.processes import free_port, give_to, run

USER, PASSWORD = "paimon", "s3cret"
_OWNER = "postgres"
MISSING = "PostgreSQL is not installed: apt-get install postgresql."


def programs() -> Path | None:
    """The folder with `initdb`, None if PostgreSQL is not installed."""
    actual = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return actual[-1].parent if actual else Path(on_path).parent if on_path else None


class PostgreSQL:
    """A running server. `port`: on 127.0.0.1."""

    def __init__(self, port: int) -> None:
        self.port = port

    def new_database(self) -> dict[str, str]:
        """Catalog options of a JDBC catalog in a new, empty database."""
        import psycopg

        name = f"c{uuid4().hex}"
        with psycopg.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        uri = f"jdbc:postgresql://127.0.0.1:{self.port}/{name}"
        return {"metastore": "jdbc", "uri": uri, "jdbc.user": USER, "jdbc.password": PASSWORD}


@contextmanager
def running(folder: Path) -> Iterator[PostgreSQL]:
    """A server in a new folder. Raises: FileNotFoundError: it is not installed."""
    actual = programs()
    if actual is None:
        raise FileNotFoundError(MISSING)
    data, password = folder / "data", folder / "password"
    folder.mkdir(parents=True)
    password.write_text(PASSWORD)
    give_to(_OWNER, folder, password)
    run(_OWNER, actual / "initdb", "-D", data, "-U", USER, "--pwfile", password, "-A", "scram-sha-256", "--no-sync")
    port = free_port()
    settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
    run(_OWNER, actual / "pg_ctl", "-D", data, "-o", settings, "-l", folder / "log", "-w", "start")
    try:
        yield PostgreSQL(port)
    finally:
        with suppress(subprocess.CalledProcessError):
            run(_OWNER, actual / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
