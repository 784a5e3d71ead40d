"""A refresh makes again what has changed, and the rows are those of the query, whatever happened to the sources."""

import json
import random
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from maintenance import operations
from maintenance.catalog import RemoveOption
from maintenance.cli.exits import NOTHING_TO_DO
from maintenance.cli.main import run as paimonctl
from maintenance.errors import ConflictError, OptionError, OutdatedPlanError, PaimonError, SqlError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.sql import Session
from maintenance.sql.materialized.changes import change_of
from maintenance.sql.materialized.definition import DefiningQuery
from maintenance.sql.materialized.plan import RefreshKind, RefreshRequest, plan_refresh
from maintenance.sql.materialized.record import REFRESH_PROPERTY, RefreshRecord, last_refresh
from maintenance.sql.materialized.refresh import RefreshReport, carry_out, refresh_materialized_table
from maintenance.sql.materialized.stored import apply_refresh, stored
from maintenance.sql.session_state import DEFAULT_CATALOG
from maintenance.table.table import Table

TOTALS = "SELECT ds, count(*) AS c, sum(n) AS t FROM a GROUP BY ds"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path / "lake")}, dialect="flink")
    session.sql("CREATE TABLE a (id INT, ds STRING, n INT) PARTITIONED BY (ds)")
    session.sql("INSERT INTO a VALUES (1, 'd1', 10), (2, 'd2', 20), (3, 'd3', 30)")
    return session


def define(session: Session, query: str, *, keys: str = "PARTITIONED BY (ds)", freshness: str = "'1' HOUR") -> None:
    session.sql(f"CREATE MATERIALIZED TABLE m {keys} FRESHNESS = INTERVAL {freshness} AS {query}")


def refresh(session: Session, **arguments: Any) -> RefreshReport:
    return refresh_materialized_table(session, "default.m", **arguments)


def rows(session: Session, query: str) -> list[tuple[Any, ...]]:
    actual = session.sql(query).to_arrow()
    return sorted(zip(*(column.to_pylist() for column in actual.columns), strict=True), key=repr)


def table(session: Session) -> Table:
    return session.table(("m",))


def files(session: Session) -> set[str]:
    """The names of its live data files."""
    snapshot = table(session).latest_snapshot()
    assert snapshot is not None
    return {entry.file.file_name for entry in table(session).manifests.live_entries(snapshot)}


def defined(session: Session) -> DefiningQuery:
    return DefiningQuery.of(session, table(session), DEFAULT_CATALOG)


def test_only_partitions_that_changes_reach_are_replaced(session: Session) -> None:
    define(session, TOTALS)
    assert refresh(session).kind == "nothing"
    before = files(session)
    session.sql("INSERT INTO a VALUES (4, 'd2', 5)")
    planned = refresh(session, dry_run=True)
    assert (planned.kind, planned.partitions, planned.dry_run) == ("partitions", ("ds=d2",), True)
    assert rows(session, "SELECT * FROM m")[1] == ("d2", 1, 20), "a dry run changes nothing"
    done = refresh(session)
    assert (done.kind, done.partitions, done.rows) == ("partitions", ("ds=d2",), 1)
    assert done.sources == {"paimon.default.a": 2}
    assert rows(session, "SELECT * FROM m") == rows(session, TOTALS)
    after = files(session)
    assert len(before & after) == 2, "the other partitions keep their files"
    assert refresh(session).kind == "nothing"


def test_deleted_rows_and_dropped_partitions_are_seen(session: Session) -> None:
    define(session, TOTALS)
    session.sql("DELETE FROM a WHERE id = 2")
    assert refresh(session).partitions == ("ds=d2",)
    session.sql("ALTER TABLE a DROP PARTITION (ds = 'd3')")
    assert refresh(session).partitions == ("ds=d3",)
    assert rows(session, "SELECT * FROM m") == [("d1", 1, 10)]


def test_a_compaction_of_a_source_changes_nothing(session: Session) -> None:
    define(session, TOTALS)
    session.sql("INSERT INTO a VALUES (4, 'd2', 5)")
    refresh(session)
    compact(None, session.table(("a",)), full=True)
    latest = session.table(("a",)).latest_snapshot()
    assert latest is not None
    assert latest.commit_kind == "COMPACT"
    assert refresh(session).kind == "nothing"


def test_rows_that_were_added_are_added_in_continuous_mode(session: Session) -> None:
    define(session, "SELECT id, upper(ds) AS u FROM a WHERE n > 10", keys="", freshness="'1' MINUTE")
    session.sql("INSERT INTO a VALUES (4, 'd2', 50), (5, 'd9', 1)")
    done = refresh(session)
    assert (done.kind, done.rows) == ("rows", 1)
    snapshot = table(session).latest_snapshot()
    assert snapshot is not None
    assert snapshot.commit_kind == "APPEND"
    session.sql("DELETE FROM a WHERE id = 4")
    assert refresh(session).kind == "whole", "what was deleted cannot be added"
    assert rows(session, "SELECT * FROM m") == [(2, "D2"), (3, "D3")]


def test_a_failed_refresh_leaves_the_old_rows_and_is_made_up_for(session: Session) -> None:
    define(session, "SELECT ds, sum(100 / n) AS t FROM a GROUP BY ds")
    old = rows(session, "SELECT * FROM m")
    session.sql("INSERT INTO a VALUES (4, 'd1', 0)")
    with pytest.raises(PaimonError, match="zero"):
        refresh(session)
    assert rows(session, "SELECT * FROM m") == old
    session.sql("DELETE FROM a WHERE id = 4")
    session.sql("INSERT INTO a VALUES (5, 'd2', 5)")
    assert refresh(session).partitions == ("ds=d1", "ds=d2")
    assert rows(session, "SELECT * FROM m") == [("d1", 10), ("d2", 25), ("d3", 3)]


def test_of_two_refreshes_at_the_same_time_one_is_committed(session: Session) -> None:
    define(session, "SELECT id FROM a", keys="", freshness="'1' MINUTE")
    session.sql("INSERT INTO a VALUES (4, 'd2', 50)")
    plans = [plan_refresh(defined(session), table(session)) for _ in range(2)]
    assert [plan.kind for plan in plans] == [RefreshKind.ROWS] * 2
    carry_out(plans[0], lambda: None)
    with pytest.raises(ConflictError, match="another refresh"):
        carry_out(plans[1], lambda: None)
    assert rows(session, "SELECT * FROM m") == [(1,), (2,), (3,), (4,)]


def test_one_partition_leaves_the_others_due(session: Session) -> None:
    define(session, TOTALS)
    session.sql("INSERT INTO a VALUES (4, 'd1', 1), (5, 'd2', 5)")
    done = refresh(session, partition={"ds": "d1"})
    assert (done.partitions, done.reason) == (("ds=d1",), "the partition was asked for")
    assert rows(session, "SELECT * FROM m")[:2] == [("d1", 2, 11), ("d2", 1, 20)]
    assert refresh(session).partitions == ("ds=d1", "ds=d2")
    assert rows(session, "SELECT * FROM m") == rows(session, TOTALS)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("INSERT INTO m VALUES ('x', 1, 1)", "is not of a refresh"),
        ("ALTER MATERIALIZED TABLE m AS SELECT ds, count(*) AS c, sum(n + 1) AS t FROM a GROUP BY ds", "another one"),
        ("ALTER TABLE a ADD extra INT", "the schema of default.a has changed"),
    ],
)
def test_what_cannot_be_told_makes_the_whole_table_again(session: Session, statement: str, why: str) -> None:
    define(session, TOTALS)
    session.sql(statement)
    done = refresh(session)
    assert done.kind == "whole"
    assert why in done.reason
    assert refresh(session).kind == "nothing"


def test_a_source_that_was_rolled_back_makes_the_whole_table_again(session: Session) -> None:
    session.sql("INSERT INTO a VALUES (4, 'd1', 1)")
    define(session, TOTALS)
    rollback_to(session.table(("a",)), snapshot_id=1)
    session.sql("INSERT INTO a VALUES (9, 'd3', 9)")
    done = refresh(session)
    assert (done.kind, "rolled back" in done.reason) == ("whole", True)
    assert rows(session, "SELECT * FROM m") == rows(session, TOTALS)


def test_a_query_that_asks_the_clock_is_always_made_again(session: Session) -> None:
    define(session, "SELECT ds, max(CURRENT_DATE) AS today FROM a GROUP BY ds")
    assert "asks the clock" in refresh(session).reason
    assert refresh(session).kind == "whole"


def test_partitions_by_the_clock_where_changes_cannot_be_told(session: Session) -> None:
    session.sql(
        "CREATE MATERIALIZED TABLE m PARTITIONED BY (ds) WITH ('partition.fields.ds.date-formatter' = 'yyyy-MM-dd')"
        " FRESHNESS = INTERVAL '1' DAY AS SELECT upper(ds) AS ds, max(CURRENT_DATE) AS today FROM a GROUP BY upper(ds)"
    )
    record = last_refresh(table(session)).record
    assert record is not None
    day = 86_400_000
    midnight = record.at_millis - record.at_millis % day
    plan = plan_refresh(defined(session), table(session), now_millis=midnight + day)
    assert plan.kind == RefreshKind.PARTITIONS
    assert len(plan.partitions) == 3, "yesterday, the day of the last refresh, and today"
    assert plan.why.endswith("by the clock")
    late = plan_refresh(defined(session), table(session), now_millis=midnight + 100 * day)
    assert (late.kind, "too long ago" in late.why) == (RefreshKind.WHOLE, True)


def test_a_plan_is_done_as_it_is_or_not_at_all(session: Session) -> None:
    define(session, TOTALS)
    session.sql("INSERT INTO a VALUES (4, 'd2', 5)")
    request = RefreshRequest()
    plan = stored(plan_refresh(defined(session), table(session), request), request)
    assert [group.name for group in plan.groups] == ["ds=d2"]
    done = apply_refresh(defined(session), table(session), plan, lambda: None)
    assert done.partitions == ("ds=d2",)
    session.sql("INSERT INTO a VALUES (5, 'd2', 5)")
    plan = stored(plan_refresh(defined(session), table(session), request), request)
    session.sql("INSERT INTO a VALUES (6, 'd3', 5)")
    with pytest.raises(OutdatedPlanError, match="ds=d3 would be refreshed, too"):
        apply_refresh(defined(session), table(session), plan, lambda: None)
    assert rows(session, "SELECT * FROM m WHERE ds = 'd2'") == [("d2", 2, 25)], "nothing was done"


def test_a_plan_is_of_the_states_of_its_sources_not_of_their_numbers(session: Session) -> None:
    define(session, TOTALS)
    session.sql("INSERT INTO a VALUES (4, 'd2', 5)")
    request = RefreshRequest()
    plan = stored(plan_refresh(defined(session), table(session), request), request)
    rollback_to(session.table(("a",)), snapshot_id=1)
    session.sql("INSERT INTO a VALUES (4, 'd2', 7)")
    with pytest.raises(OutdatedPlanError, match=r"a is at snapshot 2 \(\w{16}\), was 2 \(\w{16}\)"):
        apply_refresh(defined(session), table(session), plan, lambda: None)
    assert rows(session, "SELECT * FROM m WHERE ds = 'd2'") == [("d2", 1, 20)]


def test_a_refresh_is_a_call_a_command_and_a_function(session: Session) -> None:
    define(session, TOTALS)
    session.sql("INSERT INTO a VALUES (4, 'd2', 5)")
    (dry,) = session.sql("CALL sys.refresh_materialized_table('default.m', dry_run => true)").to_arrow().to_pylist()
    assert (dry["kind"], dry["partitions"], dry["snapshot_id"]) == ("partitions", "ds=d2", None)
    plan = session.plan("CALL sys.refresh_materialized_table('default.m')")
    assert [group.name for group in plan.groups] == ["ds=d2"]
    session.apply(plan)
    assert rows(session, "SELECT * FROM m WHERE ds = 'd2'") == [("d2", 2, 25)]
    session.sql("INSERT INTO a VALUES (5, 'd3', 5)")
    with pytest.raises(OutdatedPlanError, match="ds=d3 would be refreshed, too"):
        session.apply(plan)
    warehouse = session.current().options["warehouse"]
    command = ["--warehouse", warehouse, "refresh-materialized-table", "default.m"]
    assert [paimonctl(command), paimonctl(command)] == [0, NOTHING_TO_DO]
    done = operations.refresh_materialized_table(session.current(), "default.m", partition={"ds": "d1"})
    assert (done.kind, done.partitions) == ("partitions", ("ds=d1",))
    with pytest.raises(OptionError, match="'full' and 'partition' are both set"):
        session.sql("CALL sys.refresh_materialized_table('default.m', partition => 'ds=d1', full => true)")


def test_a_record_of_an_earlier_form_makes_the_whole_table_again(session: Session) -> None:
    define(session, TOTALS)
    record = last_refresh(table(session)).record
    assert record is not None
    content = json.loads(record.properties()[REFRESH_PROPERTY])
    content["sources"] = {
        name: [1, "user/manifest-list-1", schema] for name, (*_, schema) in content["sources"].items()
    }
    earlier = RefreshRecord.parse(json.dumps(content))
    assert earlier is not None
    source = session.table(("a",))
    change = change_of(source, earlier.sources["paimon.default.a"], source.latest_snapshot())
    assert (change.partitions, "rolled back" in change.why) == (None, True)
    assert RefreshRecord.parse(record.properties()[REFRESH_PROPERTY]) == record


def test_the_record_is_a_property_of_the_snapshot(session: Session) -> None:
    define(session, TOTALS)
    snapshot = table(session).latest_snapshot()
    assert snapshot is not None
    assert REFRESH_PROPERTY in (snapshot.properties or {})
    assert snapshot.commit_kind == "OVERWRITE"


def test_a_table_of_flinks_is_refreshed_under_its_catalogs_name(session: Session) -> None:
    """Flink writes the name that the catalog has there into the query."""
    define(session, TOTALS)
    text = "SELECT `a`.`ds`, COUNT(*) AS `c`, SUM(`a`.`n`) AS `t`\nFROM `lake`.`default`.`a` AS `a`\nGROUP BY `a`.`ds`"
    quoted = text.replace("'", "''")
    session.sql(f"ALTER TABLE m SET ('materialized-table.definition-query' = '{quoted}')")
    assert refresh(session).kind == "whole"
    session.sql("INSERT INTO a VALUES (4, 'd2', 5)")
    assert refresh(session).partitions == ("ds=d2",)
    foreign = quoted.replace("`default`.`a`", "`topics`.`events`")
    session.sql(f"ALTER TABLE m SET ('materialized-table.definition-query' = '{foreign}')")
    with pytest.raises(SqlError, match=r"topics\.events of the catalog 'lake', which is not known here"):
        refresh(session)


def test_an_ordinary_table_is_not_refreshed(session: Session) -> None:
    with pytest.raises(OptionError, match="not a materialized table"):
        refresh_materialized_table(session, "default.a")


QUERIES = (
    "SELECT ds, id, n FROM a WHERE n > 3",
    "SELECT ds, count(*) AS id, sum(n) AS n FROM a GROUP BY ds",
    "SELECT a.ds, a.id, b.n FROM a LEFT JOIN b ON a.ds = b.ds AND a.id = b.id",
    "SELECT a.ds, a.id, b.n FROM a JOIN b ON a.ds = b.ds",
    "SELECT a.ds, a.id, b.n FROM a LEFT JOIN b ON a.id = b.id",
    "SELECT ds, id, n FROM a UNION ALL SELECT ds, id, n FROM b",
    "WITH w AS (SELECT ds, max(id) AS id FROM b GROUP BY ds) SELECT a.ds, a.id, w.id AS n FROM a JOIN w ON a.ds = w.ds",
    "SELECT ds, id, n FROM a WHERE id IN (SELECT id FROM b)",
)
CHANGES = (
    "INSERT INTO {t} VALUES ({i}, 'd{d}', {n})",
    "INSERT INTO {t} VALUES ({i}, 'd{d}', {n}), ({n}, 'd{i}', {i})",
    "DELETE FROM {t} WHERE id = {i}",
    "INSERT OVERWRITE {t} PARTITION (ds = 'd{d}') VALUES ({i}, {n})",
)


@pytest.mark.slow
@pytest.mark.parametrize("freshness", ["'1' MINUTE", "'1' HOUR"])
@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_those_of_the_query_after_any_changes(session: Session, query: str, freshness: str) -> None:
    chance = random.Random(query)
    session.sql("CREATE TABLE b (id INT, ds STRING, n INT) PARTITIONED BY (ds)")
    session.sql("INSERT INTO b VALUES (1, 'd1', 7)")
    define(session, query, freshness=freshness)
    kinds = set()
    for _ in range(6):
        for _ in range(chance.randint(0, 2)):
            values = {"t": chance.choice("ab"), **{name: chance.randint(1, 4) for name in "idn"}}
            session.sql(chance.choice(CHANGES).format(**values))
        kinds.add(refresh(session).kind)
        assert rows(session, "SELECT * FROM m") == rows(session, query)
    assert kinds - {"whole"}, "not always the whole table"


IN_SHANGHAI = "SET 'table.local-time-zone' = 'Asia/Shanghai'"
# Of noon and of eight in the evening in UTC, there the next day.
DAYS = "SELECT id, CAST(at AS DATE) AS d, CAST(at AS STRING) AS s FROM moments"


@pytest.fixture
def shanghai(tmp_path: Path) -> Session:
    """Knows the table `moments`, and the time zone alone."""
    session = Session({"warehouse": str(tmp_path / "lake")}, dialect="flink")
    session.sql(IN_SHANGHAI)
    session.sql("CREATE TABLE moments (id INT, at TIMESTAMP_LTZ(3))")
    session.sql("INSERT INTO moments VALUES (1, TIMESTAMP_LTZ '2024-01-01 20:00:00')")
    define(session, DAYS, keys="", freshness="'1' MINUTE")
    return session


def test_a_refresh_is_in_the_zone_of_the_definition(shanghai: Session, tmp_path: Path) -> None:
    shanghai.sql("INSERT INTO moments VALUES (2, TIMESTAMP_LTZ '2024-01-02 04:00:00')")
    expected = [(1, date(2024, 1, 1), "2024-01-01 20:00:00.000"), (2, date(2024, 1, 2), "2024-01-02 04:00:00.000")]
    other = Session({"warehouse": str(tmp_path / "lake")}, dialect="spark")
    assert refresh(other).kind == "rows"
    assert rows(other, "SELECT * FROM m") == expected
    other.sql("SET spark.sql.session.timeZone = America/New_York")
    refresh(other, full=True)
    assert rows(other, "SELECT * FROM m") == expected


def test_a_new_query_has_the_zone_of_its_session(shanghai: Session, tmp_path: Path) -> None:
    other = Session({"warehouse": str(tmp_path / "lake")}, dialect="flink")
    other.sql("SET 'table.local-time-zone' = 'Pacific/Kiritimati'")
    other.sql(f"ALTER MATERIALIZED TABLE m AS {DAYS}")
    refresh(shanghai, full=True)
    assert rows(shanghai, "SELECT * FROM m") == [(1, date(2024, 1, 2), "2024-01-02 02:00:00.000")]


def test_a_definition_of_another_engine_takes_the_zone_of_the_refresh(shanghai: Session, tmp_path: Path) -> None:
    catalog = shanghai.catalog_of(DEFAULT_CATALOG)
    catalog.alter_table("default.m", [RemoveOption("paimon-maintenance.materialized-table.time-zone")])
    refresh(Session({"warehouse": str(tmp_path / "lake")}, dialect="flink"), full=True)
    assert rows(shanghai, "SELECT d, s FROM m") == [(date(2024, 1, 1), "2024-01-01 12:00:00.000")]
    refresh(shanghai, full=True)
    assert rows(shanghai, "SELECT d, s FROM m") == [(date(2024, 1, 1), "2024-01-01 20:00:00.000")]
