"""A MariaDB server of the tests, from Debian's package: on a free port of this machine, its files in a folder."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

from tests.servers.processes import command, free_port, give_to, run

USER, PASSWORD = "paimon", "s3cret"
_OWNER = "mysql"
MISSING = "MariaDB is not installed: apt-get install mariadb-server."
_START_SECONDS = 60


class MariaDB:
    """A running server. `port`: on 127.0.0.1."""

    def __init__(self, port: int) -> None:
        self.port = port

    def new_database(self) -> dict[str, str]:
        """Catalog options of a JDBC catalog in a new, empty database."""
        name = f"c{uuid4().hex}"
        self.execute(f"CREATE DATABASE {name} CHARACTER SET latin1")
        uri = f"jdbc:mysql://127.0.0.1:{self.port}/{name}"
        return {"metastore": "jdbc", "uri": uri, "jdbc.user": USER, "jdbc.password": PASSWORD}

    def execute(self, sql: str) -> None:
        import pymysql

        place = {"host": "127.0.0.1", "port": self.port, "user": USER, "password": PASSWORD}
        with closing(pymysql.connect(**place)) as connection, connection.cursor() as cursor:
            cursor.execute(sql)


@contextmanager
def running(folder: Path) -> Iterator[MariaDB]:
    """A server in a new folder. Raises: FileNotFoundError: it is not installed."""
    server = shutil.which("mariadbd", path="/usr/sbin:/usr/bin:/usr/local/bin")
    if server is None:
        raise FileNotFoundError(MISSING)
    folder.mkdir(parents=True)
    first = folder / "first.sql"
    user = f"'{USER}'@'127.0.0.1'"  # one statement on each line
    first.write_text(f"CREATE USER {user} IDENTIFIED BY '{PASSWORD}';\nGRANT ALL ON *.* TO {user};\n")
    give_to(_OWNER, folder, first)
    data, port = folder / "data", free_port()
    run(
        _OWNER,
        "mariadb-install-db",
        "--no-defaults",
        f"--datadir={data}",
        "--skip-test-db",
        "--auth-root-authentication-method=normal",
    )
    settings = (
        "--no-defaults", f"--datadir={data}", f"--port={port}", "--bind-address=127.0.0.1", f"--init-file={first}",
        f"--socket={folder}/socket", f"--pid-file={folder}/pid", f"--log-error={folder}/log", "--skip-name-resolve",
        "--innodb-flush-log-at-trx-commit=0",
    )  # fmt: skip
    with subprocess.Popen(command(_OWNER, server, *settings), cwd="/", stdin=subprocess.DEVNULL) as process:
        try:
            actual = MariaDB(port)
            _wait(actual, process)
            yield actual
        finally:
            process.kill()


def _wait(server: MariaDB, process: "subprocess.Popen[bytes]") -> None:
    import pymysql

    until = time.monotonic() + _START_SECONDS
    while True:
        try:
            server.execute("SELECT 1")
        except pymysql.Error:
            if process.poll() is not None or time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return
