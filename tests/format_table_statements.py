"""Every statement of SQL on a format table, for catalogs of all kinds."""

import pytest

from maintenance.catalog import Catalog
from maintenance.errors import PaimonError
from maintenance.sql import Session

KINDS = ("csv", "json", "parquet", "orc", "text")
DIALECTS = ("flink", "spark")
_REFUSED = (
    "UPDATE {t} SET a = 'x'",
    "DELETE FROM {t} WHERE a = 'x'",
    "CALL sys.compact(`table` => '{t}')",
    "CALL sys.expire_snapshots(`table` => '{t}', retain_max => 1)",
    "CALL sys.create_tag(`table` => '{t}', tag => 'g')",
    "CALL sys.rollback_to(`table` => '{t}', snapshot_id => 1)",
    "CALL sys.create_branch(`table` => '{t}', branch => 'b')",
    "ANALYZE TABLE {t} COMPUTE STATISTICS",
    "SELECT * FROM {t} /*+ OPTIONS('scan.snapshot-id' = '1') */",
    "SELECT * FROM {t} /*+ OPTIONS('branch' = 'b') */",
    "MERGE INTO {t} USING {t} s ON {name}.a = s.a WHEN MATCHED THEN DELETE",
)


def created(session: Session, name: str, kind: str) -> None:
    """A table with columns a and pt, by the dialect's own words."""
    if session.dialect == "spark":
        session.sql(f"CREATE TABLE {name} (a STRING, pt DATE) USING {kind} PARTITIONED BY (pt)")
    else:
        options = f"'type' = 'format-table', 'file.format' = '{kind}'"
        session.sql(f"CREATE TABLE {name} (a STRING, pt DATE) PARTITIONED BY (pt) WITH ({options})")


def rows(session: Session, name: str) -> list[tuple[str, str]]:
    found = session.sql(f"SELECT a, CAST(pt AS STRING) AS pt FROM {name} ORDER BY a").to_arrow()
    return [(row["a"], row["pt"]) for row in found.to_pylist()]


def partitions(session: Session, name: str) -> list[str]:
    return [str(text) for text in session.sql(f"SHOW PARTITIONS {name}").to_arrow().column(0).to_pylist()]


def exercise(catalog: Catalog, database: str, kind: str, dialect: str) -> None:
    """Write, overwrite, truncate, list and drop partitions, show and describe; what has no meaning is refused."""
    session = Session(catalog, dialect=dialect)  # type: ignore[arg-type]
    name = f"{database}.f_{kind}_{dialect}"
    created(session, name, kind)
    day = "DATE '2024-01-01'"
    session.sql(f"INSERT INTO {name} VALUES ('one', {day}), ('two', DATE '2024-01-02')")
    session.sql(f"INSERT INTO {name} PARTITION (pt = '2024-01-03') VALUES ('three')")
    assert rows(session, name) == [("one", "2024-01-01"), ("three", "2024-01-03"), ("two", "2024-01-02")]
    assert partitions(session, name) == ["pt=2024-01-01", "pt=2024-01-02", "pt=2024-01-03"]
    session.sql(f"INSERT INTO {name} PARTITION (pt = NULL) VALUES ('none')")
    assert session.sql(f"SELECT a FROM {name} WHERE pt IS NULL").to_arrow()["a"].to_pylist() == ["none"]
    newest = session.sql(f"SELECT a FROM {name} WHERE CAST(pt AS STRING) = sys.max_pt('{name}')").to_arrow()
    assert newest["a"].to_pylist() == ["three"]
    session.sql(f"INSERT OVERWRITE {name} PARTITION (pt = NULL) VALUES ('nobody')")
    session.sql(f"ALTER TABLE {name} DROP PARTITION (pt = NULL)")
    assert partitions(session, name) == ["pt=2024-01-01", "pt=2024-01-02", "pt=2024-01-03"]
    session.sql(f"INSERT OVERWRITE {name} PARTITION (pt = '2024-01-01') VALUES ('uno')")
    assert rows(session, name)[2] == ("uno", "2024-01-01")
    session.sql(f"ALTER TABLE {name} DROP PARTITION (pt = '2024-01-02')")
    assert partitions(session, name) == ["pt=2024-01-01", "pt=2024-01-03"]
    with pytest.raises(PaimonError, match="does not exist"):
        session.sql(f"ALTER TABLE {name} DROP PARTITION (pt = '2024-01-02')")
    session.sql(f"ALTER TABLE {name} DROP IF EXISTS PARTITION (pt = '2024-01-02')")
    session.sql(f"ALTER TABLE {name} ADD IF NOT EXISTS PARTITION (pt = '2024-01-03')")
    _check_shown(session, name, kind)
    _check_refused(session, name)
    if dialect == "spark":
        session.sql(f"TRUNCATE TABLE {name} PARTITION (pt = {day})")
        assert rows(session, name) == [("three", "2024-01-03")]
    session.sql(f"TRUNCATE TABLE {name}")
    assert rows(session, name) == []
    _check_made_of_queries(session, name, kind)
    session.sql(f"DROP TABLE {name}")
    assert name.partition(".")[2] not in catalog.list_tables(database)


def _check_shown(session: Session, name: str, kind: str) -> None:
    columns = session.sql(f"DESCRIBE {name}").to_arrow().column(0).to_pylist()
    assert columns[:2] == ["a", "pt"]
    (shown,) = session.sql(f"SHOW CREATE TABLE {name}").to_arrow().column(0).to_pylist()
    assert f"'file.format' = '{kind}'" in shown
    assert "PARTITIONED BY (`pt`)" in shown
    assert (f"USING {kind}" in shown) == (session.dialect == "spark")
    if session.dialect == "spark":
        assert session.sql(f"DESCRIBE {name} a").to_arrow().num_rows == 3
        extended = session.sql(f"DESCRIBE EXTENDED {name} PARTITION (pt = '2024-01-03')").to_arrow().to_pylist()
        assert {"Partition Values"} <= {row["col_name"] for row in extended}
        options = session.sql(f"SHOW TBLPROPERTIES {name}").to_arrow().to_pylist()
        assert {"key": "type", "value": "format-table"} in options


def _check_refused(session: Session, name: str) -> None:
    for statement in _REFUSED:
        with pytest.raises(PaimonError, match=r"is a format table|a format table does not take"):
            session.sql(statement.format(t=name, name=name.partition(".")[2]))
    quoted = name.replace(".", "`.`")
    for part in ("$nonsense", "$snapshots"):
        with pytest.raises(PaimonError, match=r"does not exist.*is a format table"):
            session.sql(f"SELECT * FROM `{quoted}{part}`")
    with pytest.raises(PaimonError, match="does not exist"):
        session.sql(f"SELECT * FROM `{quoted}$branch_b`")


def _check_made_of_queries(session: Session, name: str, kind: str) -> None:
    database, _, table = name.partition(".")
    catalog = session.current()
    options = f"'type' = 'format-table', 'file.format' = '{kind}'"
    how = f"USING {kind}" if session.dialect == "spark" else f"WITH ({options})"
    session.sql(f"CREATE TABLE {name}_as {how} AS SELECT 'x' AS a")
    assert session.sql(f"SELECT * FROM {name}_as").to_arrow().to_pylist() == [{"a": "x"}]
    session.sql(f"CREATE TABLE {name}_like LIKE {name}_as")
    assert session.sql(f"SELECT * FROM {name}_like").to_arrow().num_rows == 0
    if kind in ("csv", "text"):  # they hold no arrays
        array = "ARRAY[1]" if session.dialect == "flink" else "ARRAY(1)"
        with pytest.raises(PaimonError):
            session.sql(f"CREATE TABLE {name}_bad {how} AS SELECT {array} AS a")
        assert f"{table}_bad" not in catalog.list_tables(database)
        session.sql(f"CREATE TABLE {name}_bad {how} AS SELECT 'x' AS a")
        session.sql(f"DROP TABLE {name}_bad")
    for suffix in ("_as", "_like"):
        session.sql(f"DROP TABLE {name}{suffix}")
