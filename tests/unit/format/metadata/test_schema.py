"""Schema files: Paimon's own, old versions, derived keys, round trips."""

import json
from pathlib import Path
from typing import Any

import pytest

from maintenance.errors import CorruptFileError, SchemaError, UnsupportedError
from maintenance.format.metadata.schema import TableSchema, parse_schema, serialize_schema
from maintenance.types.data_type import DataField, parse_type

DATA = Path(__file__).parent / "data"
FIELDS = tuple(
    DataField(number, name, parse_type(text))
    for number, (name, text) in enumerate([("k", "INT NOT NULL"), ("dt", "STRING NOT NULL"), ("v", "DECIMAL(10, 2)")])
)


def schema(**changes: Any) -> TableSchema:
    values: dict[str, Any] = {
        "id": 3,
        "fields": FIELDS,
        "highest_field_id": 7,
        "primary_keys": ("dt", "k"),
        "partition_keys": ("dt",),
    }
    return TableSchema(**values | changes)


def form_of(table_schema: TableSchema, **changes: Any) -> bytes:
    form = json.loads(serialize_schema(table_schema)) | changes
    return json.dumps({key: value for key, value in form.items() if value != "absent"}).encode()


def test_a_schema_of_paimon_is_read_and_written_the_same() -> None:
    data = (DATA / "schema").read_bytes()
    actual = parse_schema(data, "schema-0")
    assert [str(field) for field in actual.fields] == ["`k` INT", "`v` STRING", "`n` INT", "`dt` STRING"]
    assert (actual.id, actual.version, actual.highest_field_id, actual.time_millis) == (0, 3, 3, 1795270112670)
    assert (actual.partition_keys, actual.primary_keys, actual.comment) == (("dt",), (), None)
    assert list(json.loads(serialize_schema(actual)).items()) == list(json.loads(data).items())


def test_a_schema_with_comment_and_options_reads_back() -> None:
    commented = schema(comment="", options={"bucket": "4", "ünï": "x\ny"}, time_millis=5)
    assert parse_schema(serialize_schema(commented), "memory") == commented


def test_what_is_not_set_is_not_written() -> None:
    assert b"comment" not in serialize_schema(schema())
    assert b"null" not in serialize_schema(schema())
    assert parse_schema(form_of(schema(), comment=None, unknown=1), "memory").comment is None


@pytest.mark.parametrize(
    ("version", "options", "implied"),
    [
        ("absent", {}, {"bucket": "1", "file.format": "orc"}),
        (1, {"bucket": "4"}, {"bucket": "4", "file.format": "orc"}),
        (1, {"file.format": "avro"}, {"bucket": "1", "file.format": "avro"}),
        (2, {}, {"file.format": "orc"}),
        (3, {}, {}),
    ],
)
def test_options_that_old_versions_implied(version: object, options: dict[str, str], implied: dict[str, str]) -> None:
    assert parse_schema(form_of(schema(), version=version, options=options), "memory").options == implied


def test_keys_of_buckets_and_partitions_follow_from_the_schema() -> None:
    assert schema().trimmed_primary_keys == schema().bucket_keys == ("k",)
    assert schema().key_fields == FIELDS[:1]
    assert schema().partition_fields == FIELDS[1:2]
    assert schema(options={"bucket-key": "v,k"}).bucket_keys == ("v", "k")
    assert schema(options={"bucket-key": "v,k"}).bucket_fields == (FIELDS[2], FIELDS[0])
    assert not schema().is_cross_partition
    assert schema(primary_keys=("k",)).is_cross_partition
    assert not schema(primary_keys=()).is_cross_partition
    with pytest.raises(SchemaError, match=r"no column 'x'.*schema 3"):
        schema().field("x")


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(UnsupportedError, match=r"version 4 \(schema-9\)"):
        parse_schema(form_of(schema(), version=4), "schema-9")
    with pytest.raises(CorruptFileError, match=r"'highestFieldId' is missing \(schema-9\)"):
        parse_schema(form_of(schema(), highestFieldId="absent"), "schema-9")
    with pytest.raises(CorruptFileError, match=r"schema-9"):
        parse_schema(form_of(schema(), fields=5), "schema-9")
    with pytest.raises(SchemaError, match=r"'NONSENSE'.*schema-9"):
        parse_schema(form_of(schema(), fields=[{"id": 0, "name": "k", "type": "NONSENSE"}]), "schema-9")
    for data in (b"", b"[]", b"{", b"\xff"):
        with pytest.raises(CorruptFileError, match="schema-9"):
            parse_schema(data, "schema-9")
