"""A Hive metastore of the tests: the one among Spark's jars, with an in-memory database.

It listens on all addresses of its machine, so it runs in a network namespace of its own. A relay there takes
connections of a port of this machine, and of nobody else.
"""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

MISSING = "No Hive metastore can be started: {}."
_START_SECONDS = 400
_PORT = 9083
_SITE = """<?xml version="1.0"?>
<configuration>
{}
</configuration>
"""


_LOGGING = """
name = HiveLog4j2
appenders = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{2}: %m%n
rootLogger.level = WARN
rootLogger.appenderRefs = console
rootLogger.appenderRef.console.ref = console
"""


class Hive:
    """A running metastore. `uri`: on 127.0.0.1; `home`: its own warehouse."""

    def __init__(self, port: int, home: Path) -> None:
        self.uri = f"thrift://127.0.0.1:{port}"
        self.home = home

    def options(self, warehouse: Path) -> dict[str, str]:
        """Options of a Hive catalog."""
        return {"metastore": "hive", "uri": self.uri, "warehouse": str(warehouse), "cache-enabled": "false"}


@contextmanager
def running(folder: Path) -> Iterator[Hive]:
    """A metastore whose files are in a new folder. Raises: FileNotFoundError: something that it needs is missing."""
    java = shutil.which("java", path=f"{os.environ.get('JAVA_HOME', '')}/bin:{os.environ.get('PATH', '')}")
    spark = find_spec("pyspark")
    if java is None:
        raise FileNotFoundError(MISSING.format("there is no java on PATH"))
    if find_spec("jpype") is None:
        raise FileNotFoundError(MISSING.format("JPype is not installed: run scripts/install test"))
    if spark is None or spark.origin is None:
        raise FileNotFoundError(MISSING.format("pyspark, which has its jars, is not installed"))
    unshare = _unshare()
    folder.mkdir(parents=True)
    _write_site(folder)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        os.set_inheritable(listener.fileno(), True)
        jars = Path(spark.origin).parent / "jars" / "*"
        command = [*unshare, sys.executable, __file__, str(listener.fileno()), f"{folder}:{jars}"]
        with (
            (folder / "log").open("wb") as log,
            subprocess.Popen(
                command, cwd=folder, stdout=log, stderr=log, stdin=subprocess.PIPE, pass_fds=[listener.fileno()]
            ) as process,
        ):
            try:
                actual = Hive(listener.getsockname()[1], folder / "home")
                _wait(actual, process, folder / "log")
                yield actual
            finally:
                assert process.stdin is not None
                process.stdin.close()  # the relay ends the metastore when this side hangs up
                process.wait(timeout=30)


def _unshare() -> list[str]:
    """The command that runs another one in a network namespace."""
    program = shutil.which("unshare")
    own = ["--net"] if os.geteuid() == 0 else ["--net", "--map-root-user"]
    if program is None or shutil.which("ip") is None:
        raise FileNotFoundError(MISSING.format("unshare and ip are not installed"))
    if subprocess.run([program, *own, "true"], capture_output=True, check=False).returncode != 0:
        raise FileNotFoundError(MISSING.format("this user may not make a network namespace"))
    return [program, *own]


def _write_site(folder: Path) -> None:
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:memory:{uuid4().hex};create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "datanucleus.connectionPoolingType": "HikariCP",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": str(folder / "home"),
        "hive.async.log.enabled": "false",
    }
    lines = (f"<property><name>{key}</name><value>{value}</value></property>" for key, value in settings.items())
    (folder / "hive-site.xml").write_text(_SITE.format("\n".join(lines)))
    (folder / "hive-log4j2.properties").write_text(_LOGGING)


def _wait(server: Hive, process: "subprocess.Popen[bytes]", log: Path) -> None:
    from maintenance.errors import InfrastructureError
    from maintenance.metastore.hive.client import HiveMetastore

    until = time.monotonic() + _START_SECONDS
    metastore = HiveMetastore((("127.0.0.1", int(server.uri.rpartition(":")[2])),))
    while True:
        try:
            metastore.read("get_all_databases")
        except InfrastructureError:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the metastore did not start: {log.read_text()[-2000:]}") from None
            time.sleep(0.3)
        else:
            return


def _relay(listener: socket.socket) -> None:
    while True:
        ours, _ = listener.accept()
        try:
            theirs = socket.create_connection(("127.0.0.1", _PORT))
        except OSError:
            ours.close()
            continue
        for source, target in ((ours, theirs), (theirs, ours)):
            threading.Thread(target=_copy, args=(source, target), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _serve(classpath: str) -> None:
    """Run the metastore in this process. It makes the tables of its locks itself in its own tests alone."""
    import jpype

    settings = ("-Xmx400m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Duser.timezone=UTC")
    jpype.startJVM(*settings, classpath=classpath.split(":"))
    conf = jpype.JClass("org.apache.hadoop.hive.conf.HiveConf")()
    jpype.JClass("org.apache.hadoop.hive.metastore.txn.TxnDbUtil").prepDb(conf)
    jpype.JClass("org.apache.hadoop.hive.metastore.HiveMetaStore").main(["-p", str(_PORT)])


def _main(descriptor: int, classpath: str) -> None:
    """Inside the namespace: run the metastore, and relay until the other side hangs up."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    threading.Thread(target=_relay, args=(socket.socket(fileno=descriptor),), daemon=True).start()
    threading.Thread(target=_serve, args=(classpath,), daemon=True).start()
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2])
