"""INSERT INTO tables with `upsert-key`: Spark's statements merge, Flink's append, as in Paimon."""

from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable, Schema
from maintenance.connector.data_writer import PaimonWriter
from maintenance.errors import DataError, OptionError, UnsupportedError
from maintenance.sql import Session
from tests.tables import open_warehouse

COLUMNS = [("k", "INT"), ("v", "INT"), ("s", "STRING")]


def session_of(tmp_path: Path, **options: str) -> Session:
    catalog = open_warehouse(tmp_path)
    stored = {"upsert-key": "k", "bucket": "-1", **{key.replace("_", "."): value for key, value in options.items()}}
    catalog.create_table("db.t", Schema(COLUMNS, options=stored))
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    session.sql("USE db")
    return session


def rows(session: Session) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in session.sql("SELECT * FROM t").to_arrow().to_pylist()), key=repr)


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_rows_replace_those_with_their_key_and_null_is_a_key(tmp_path: Path, vectors: str) -> None:
    session = session_of(tmp_path, **{"deletion-vectors_enabled": vectors})
    session.sql("INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (NULL, 3, 'c')")
    session.sql("INSERT INTO t VALUES (2, 0, 'B'), (NULL, 4, 'C'), (3, 5, 'd')")
    assert rows(session) == [(1, 1, "a"), (2, 0, "B"), (3, 5, "d"), (None, 4, "C")]


def test_the_newest_row_of_a_key_counts(tmp_path: Path) -> None:
    session = session_of(tmp_path, sequence_field="v")
    session.sql("INSERT INTO t VALUES (1, 5, 'a'), (1, 7, 'newest'), (1, NULL, 'n'), (2, 5, 'b'), (3, 5, 'c')")
    assert rows(session) == [(1, 7, "newest"), (2, 5, "b"), (3, 5, "c")]
    session.sql("INSERT INTO t VALUES (1, 6, 'old'), (2, 5, 'same'), (3, 9, 'new')")
    assert rows(session) == [(1, 7, "newest"), (2, 5, "same"), (3, 9, "new")]


def test_several_rows_for_one_are_refused(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    session.sql("INSERT INTO t VALUES (1, 1, 'a')")
    with pytest.raises(DataError, match="several rows of the source"):
        session.sql("INSERT INTO t VALUES (1, 2, 'b'), (1, 3, 'c')")
    assert rows(session) == [(1, 1, "a")]


def test_flink_and_overwrites_do_not_merge(tmp_path: Path) -> None:
    session = session_of(tmp_path)
    session.sql("INSERT INTO t VALUES (1, 1, 'a')")
    session.in_dialect("flink").sql("INSERT INTO db.t VALUES (1, 2, 'b')")
    assert rows(session) == [(1, 1, "a"), (1, 2, "b")]
    session.sql("INSERT OVERWRITE t VALUES (1, 3, 'c')")
    assert rows(session) == [(1, 3, "c")]


def test_dataframes_cannot_append_but_may_overwrite(tmp_path: Path) -> None:
    session_of(tmp_path)
    table = open_warehouse(tmp_path).get_table("db.t")
    assert isinstance(table, CatalogTable)
    with pytest.raises(UnsupportedError, match=r"merge_into"):
        PaimonWriter(table, {}, {}, overwrite=False)
    PaimonWriter(table, {}, {}, overwrite=True)


@pytest.mark.parametrize(
    ("keys", "primary_keys", "found"),
    [("k", ["v"], "with a primary key"), ("x", [], "names 'x'"), ("a", [], "which is ARRAY<INT>")],
)
def test_keys_that_cannot_be(tmp_path: Path, keys: str, primary_keys: list[str], found: str) -> None:
    schema = Schema([*COLUMNS, ("a", "ARRAY<INT>")], primary_keys, options={"upsert-key": keys})
    with pytest.raises(OptionError, match=found):
        open_warehouse(tmp_path).create_table("db.u", schema)
