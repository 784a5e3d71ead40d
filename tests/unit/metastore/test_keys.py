"""Keys of a new table: given as such, or among its options."""

from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.catalog import Schema
from maintenance.errors import SchemaError
from maintenance.metastore.first_schema import first_schema
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.schema import FieldSpec
from maintenance.sql import Session


def test_keys_are_normalised_whatever_their_form() -> None:
    columns: list[FieldSpec] = [("k", "INT"), ("d", "STRING")]
    options = {"primary-key": "k, d", "partition": "d", "bucket": "1"}
    schema = Schema(columns, options=options)
    assert (schema.primary_keys, schema.partition_keys, schema.options) == (("k", "d"), ("d",), {"bucket": "1"})
    assert replace(schema, options={**schema.options, "write-only": "true"}).partition_keys == ("d",)
    with pytest.raises(SchemaError, match="'partition' and the keys"):
        Schema(columns, partition_keys=["d"], options=options)
    plain = Schema(columns, options={"type": "format-table", "file.format": "csv", "partition": "d"})
    assert first_schema(Identifier("db", "f"), plain, {}).partition_keys == ("d",)


def test_a_replacement_with_the_same_keys_as_options_keeps_snapshots(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE t (k INT, d STRING) WITH ('partition' = 'd')")
    session.sql("INSERT INTO t VALUES (1, 'x')")
    spark = Session(session.current(), dialect="spark")
    spark.sql("CREATE OR REPLACE TABLE t (k INT, v INT, d STRING) TBLPROPERTIES ('partition' = 'd')")
    assert spark.sql("SELECT * FROM t VERSION AS OF 1").to_arrow().num_rows == 1
