"""What runs a session is chosen in one word; on Sail what is written has the values of the dialect, not Sail's."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.connect.client.retries import Retrying

from maintenance.cli.main import run
from maintenance.errors import OptionError, SqlError
from maintenance.spark.application import is_connect
from maintenance.spark.engine import Engine, EngineKind
from maintenance.spark.opened import close_session, open_session
from maintenance.spark.sail import is_sail
from maintenance.spark.sail_server import sail_server
from maintenance.sql import Session
from paimon_maintenance.assets.resources.spark import Spark

pytestmark = pytest.mark.usefixtures("no_session")
TABLE = (
    "CREATE TABLE t (id INT NOT NULL, f FLOAT, x DOUBLE, n DECIMAL(10, 2)) "
    "TBLPROPERTIES ('row-tracking.enabled' = 'true')"
)
WRITES = (
    "INSERT INTO t SELECT 1, 0.1, 0, 7 UNION ALL SELECT 2, 3.3, 0, 1",
    "INSERT INTO t SELECT id + 2, f * 1.1, f + 1, n / 3 FROM t",
    "UPDATE t SET x = f + id, n = n / 3 WHERE id > 1",
    "MERGE INTO t USING (SELECT id, n / 7 AS m FROM t) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET x = s.m",
    "DELETE FROM t WHERE f + 1 > 4.3",
    "CREATE TABLE made AS SELECT id, n / 3 AS third, f + 1 AS more, avg(n) OVER () AS mean FROM t",
)


def written(folder: Path, engine: str) -> list[Any]:
    session = Session({"warehouse": str(folder)}, engine=engine)
    session.sql(TABLE)
    for statement in WRITES:
        session.sql(statement)
    session.switch("embedded")
    read = [session.sql(f"SELECT * FROM {name} ORDER BY id").to_arrow() for name in ("t", "made")]
    return [(rows.schema, rows.to_pylist()) for rows in read]


def test_what_sail_writes_is_what_this_process_writes(tmp_path: Path) -> None:
    assert written(tmp_path / "sail", "sail") == written(tmp_path / "embedded", "embedded")


def test_set_chooses_the_engine_and_reset_returns_to_the_first(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)})
    assert told(session).startswith("Engine: embedded, in this process")
    session.sql("SET spark.sql.session.timeZone = Asia/Shanghai")
    session.sql("SET 'engine' = 'sail'")
    assert told(session).startswith("Engine: sail, a server without a JVM")
    assert session.sql("SET engine").to_arrow().to_pylist() == [{"key": "engine", "value": "sail"}]
    # What was set before the server was there is known to it.
    assert session.sql("SELECT current_timezone() AS z").to_arrow().to_pylist() == [{"z": "Asia/Shanghai"}]
    assert is_sail(session.spark)
    session.sql("RESET 'engine'")
    assert session.spark is None


def test_an_engine_that_does_not_honour_what_is_set_is_refused(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, engine="sail")
    session.sql("SET spark.sql.caseSensitive = true")
    with pytest.raises(SqlError, match=r"'spark\.sql\.caseSensitive' = 'true' is not honoured"):
        session.sql("SET 'engine' = 'embedded'")
    assert str(session.engine) == "sail"


def test_the_command_line_takes_the_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIMONCTL_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text(f'[profiles.lake]\nwarehouse = "{tmp_path}/lake"\nengine = "sail"\n')
    assert run(["--profile", "lake", "sql", "--json", "SELECT version() AS v"]) == 0
    from pysail import __version__

    assert json.loads(capsys.readouterr().out) == {"v": __version__}
    assert run(["--profile", "lake", "sql", "--engine", "embedded", "--json", "SELECT 7 DIV 2 AS n"]) == 0
    assert json.loads(capsys.readouterr().out) == {"n": 3}


def test_steps_of_dagster_run_on_sail_and_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    resource = Spark(options={"spark.executor.memory": "4g"})
    assert is_sail(resource.session())
    assert "no Java 17 or newer was found" in resource.metadata()["engine"]
    with pytest.raises(OptionError, match=r"Sail does not honour 'spark\.sql\.optimizer\.excludedRules'"):
        Spark(engine="sail", options={"spark.sql.optimizer.excludedRules": "x"}).session()


def test_the_session_of_sail_is_one_of_connect(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, engine="sail")
    assert is_connect(session.spark)
    assert session.in_dialect("flink").spark is session.spark
    assert session.alone().spark is None


def test_a_session_whose_server_is_gone_stops_without_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sail_server(log=tmp_path / "log") as server:
        session: Any = open_session(Engine(EngineKind.SAIL, server.remote))
        assert session.range(3).count() == 3
    pauses: list[float] = []
    policies = session.client.get_retry_policies()
    monkeypatch.setattr(session.client, "_retrying", lambda: Retrying(policies, sleep=pauses.append))
    close_session()
    assert session.is_stopped
    assert pauses == []


def told(session: Session) -> str:
    first: str = session.sql("EXPLAIN SELECT 1").to_arrow().to_pylist()[0]["plan"]
    return first
