"""Plans that somebody else has to approve: nothing is done before, and the history says who did what."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.errors import CorruptFileError, OptionError
from maintenance.operations import approve_plan
from maintenance.operations.history import read_history
from maintenance.operations.plan_store import StoredPlan
from maintenance.sql import Session
from maintenance.sql.plans import keep_plan, place_of_plans


def session_of(folder: Path, rule: str) -> Session:
    session = Session({"warehouse": str(folder), "plans.need-approval": rule})
    session.sql("CREATE DATABASE IF NOT EXISTS shop")
    session.sql("CREATE TABLE IF NOT EXISTS shop.t (id INT PRIMARY KEY NOT ENFORCED, v INT) WITH ('bucket' = '1', "
                "'write-only' = 'true')") if session.dialect == "flink" else session.sql(
        "CREATE TABLE IF NOT EXISTS shop.t (id INT, v INT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1', "
        "'write-only' = 'true')")  # fmt: skip
    for value in (1, 2):
        session.sql(f"INSERT INTO shop.t VALUES (1, {value})")
    return session


def compaction(session: Session) -> str:
    return keep_plan(session, session.plan("CALL sys.compact(`table` => 'shop.t', compact_strategy => 'full')"))


def expiry(session: Session) -> str:
    call = "CALL sys.expire_snapshots(`table` => 'shop.t', retain_max => 1, retain_min => 1)"
    return keep_plan(session, session.plan(call))


def files(session: Session) -> int:
    return int(session.sql("SELECT COUNT(*) AS n FROM shop.`t$files`").to_arrow()["n"][0].as_py())


def test_a_plan_is_applied_only_after_somebody_else_has_approved_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIMON_PERSON", "ana")
    session = session_of(tmp_path, "all")
    plan = compaction(session)
    with pytest.raises(OptionError, match=rf"somebody other than ana, who made it.*paimonctl approve-plan {plan}"):
        session.apply(plan)
    with pytest.raises(OptionError, match="ana has made this plan"):
        approve_plan(*place_of_plans(session.current()), plan)
    with pytest.raises(OptionError, match="nobody is named"):
        approve_plan(*place_of_plans(session.current()), plan, name=" ")
    assert files(session) == 2
    monkeypatch.setenv("PAIMON_PERSON", "ben")
    report = approve_plan(*place_of_plans(session.current()), plan, reason="looks right")
    assert (report.made_by, report.approved_by, report.reason, report.is_new) == ("ana", "ben", "looks right", True)
    monkeypatch.setenv("PAIMON_PERSON", "cem")
    second = approve_plan(*place_of_plans(session.current()), plan)
    assert (second.approved_by, second.is_new) == ("ben", False)
    session.apply(plan)
    assert files(session) == 1
    refused, done = sorted(
        read_history(session.current(), "_maintenance.history", "shop.t"), key=lambda row: row["finished_at"]
    )
    assert (refused["outcome"], done["outcome"], done["operation"]) == ("failed", "succeeded", "compact")
    people = {"plan": plan, "made_by": "ana", "approved_by": "ben", "applied_by": "cem"}
    assert people.items() <= json.loads(done["details"]).items()
    assert "by somebody other than ana" in json.loads(refused["details"])["found"]


def test_the_rule_for_deletions_leaves_rewrites_alone(tmp_path: Path) -> None:
    session = session_of(tmp_path, "deleting")
    session.apply(compaction(session))
    assert files(session) == 1
    with pytest.raises(OptionError, match=r"somebody other than .*, who made it"):
        session.apply(expiry(session))
    free = Session({"warehouse": str(tmp_path)})
    assert free.apply(expiry(free)).to_arrow()["deleted_snapshots_count"].to_pylist() == [2]


def test_a_plan_needs_what_was_the_rule_when_it_was_made(tmp_path: Path) -> None:
    strict = session_of(tmp_path, "all")
    plan = compaction(strict)
    free = Session({"warehouse": str(tmp_path)})
    with pytest.raises(OptionError, match="needs an approval"):
        free.apply(plan)
    kept = tmp_path / "_maintenance/plans" / f"{plan}.json"
    kept.write_text(kept.read_text().replace('"needs_approval": true', '"needs_approval": false'))
    with pytest.raises(CorruptFileError, match="changed after it was stored"):
        free.apply(plan)


def test_a_plan_without_a_maker_is_read_as_it_was_stored(tmp_path: Path) -> None:
    session = session_of(tmp_path, "none")
    made = session.plan("CALL sys.compact(`table` => 'shop.t', compact_strategy => 'full')")
    stored = made.to_dict()
    assert stored.pop("made_by") == made.made_by
    older = StoredPlan.of_dict(stored)
    assert older.made_by == ""
    assert older.to_dict() == stored
    assert session.apply(older).nothing_to_do is False


def test_an_approval_that_cannot_be_read_is_no_approval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_of(tmp_path, "all")
    plan = compaction(session)
    monkeypatch.setenv("PAIMON_PERSON", "ben")
    approve_plan(*place_of_plans(session.current()), plan)
    (tmp_path / "_maintenance/approvals" / f"{plan}.json").write_text("{}")
    with pytest.raises(CorruptFileError, match="this is not an approval"):
        session.apply(plan)


def test_the_rows_of_a_statement_wait_too(tmp_path: Path) -> None:
    session = session_of(tmp_path, "all")
    for statement in ("DELETE FROM shop.t WHERE id = 1", "DROP TABLE shop.t"):
        with pytest.raises(OptionError, match="needs an approval"):
            session.apply(keep_plan(session, session.plan(statement)))
    assert pa.types.is_integer(session.sql("SELECT v FROM shop.t").to_arrow()["v"].type)
