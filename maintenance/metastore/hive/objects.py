"""The metastore's objects for tables and views, field for field as Java's catalog makes them.

Source: Java `HiveCatalog`, `HiveTableUtils`.
"""

import getpass
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maintenance.errors import OptionError, UnsupportedError
from maintenance.format.metadata.schema import TableSchema
from maintenance.metastore.hive.client import Struct, thrift
from maintenance.metastore.hive.parameters import METASTORE_PARAMETERS
from maintenance.metastore.hive.types import hive_type, type_of_hive
from maintenance.metastore.view import View
from maintenance.options import table as table_options
from maintenance.options.formats import CSV_FIELD_DELIMITER
from maintenance.table import object_table
from maintenance.table.object_table import object_fields
from maintenance.types.data_type import DataField

EXTERNAL, MANAGED, VIEW = "EXTERNAL_TABLE", "MANAGED_TABLE", "VIRTUAL_VIEW"
COMMENT, TABLE_TYPE = "comment", "table_type"
LOCATION_PROPERTY = "paimon_location"
_DELIMITER, _HIVE_DELIMITER = "field.delim", "\u0001"
_HIVE_PREFIX = "hive."
_KEPT_WITHOUT_SYNC = ("partition.expiration-time", "data-file.path-directory")
_MAX_INT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Classes:
    """Java classes that read and write a table in Hive."""

    input_format: str
    output_format: str
    serde: str


PAIMON = Classes(
    "org.apache.paimon.hive.mapred.PaimonInputFormat",
    "org.apache.paimon.hive.mapred.PaimonOutputFormat",
    "org.apache.paimon.hive.PaimonSerDe",
)
_TEXT = ("org.apache.hadoop.mapred.TextInputFormat", "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat")
_LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_OF_FORMAT: Mapping[str, Classes] = {
    "csv": Classes(*_TEXT, _LAZY),
    "text": Classes(*_TEXT, _LAZY),
    "json": Classes(*_TEXT, "org.apache.hive.hcatalog.data.JsonSerDe"),
    "parquet": Classes(
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    ),
    "orc": Classes(
        "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
    ),
}
_OF_VIEWS = Classes(
    "org.apache.hadoop.mapred.SequenceFileInputFormat",
    "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
    "org.apache.hadoop.hive.serde2.MetadataTypedColumnsetSerDe",
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a table lies. `in_properties`: the metastore keeps that as a parameter: `location-in-properties`."""

    location: str
    external: bool
    in_properties: bool


def is_paimon(table: Struct) -> bool:
    sd = table.sd
    return sd is not None and (sd.inputFormat, sd.outputFormat) == (PAIMON.input_format, PAIMON.output_format)


def table_object(database: str, name: str, schema: TableSchema, place: Place, *, sync: bool) -> Struct:
    """A table of Paimon. `sync`: option `sync-all-properties`. Raises: OptionError, UnsupportedError."""
    if sync:
        parameters = properties_of(schema)
    else:
        kept = {key: schema.options[key] for key in _KEPT_WITHOUT_SYNC if key in schema.options}
        parameters = {**_hive_options(schema.options), **kept}
    handler = "org.apache.paimon.hive.PaimonStorageHandler"
    table = _new(database, name, {**parameters, TABLE_TYPE: "PAIMON", "storage_handler": handler}, place)
    describe(table, schema, place)
    return table


def format_table_object(database: str, name: str, schema: TableSchema, place: Place) -> Struct:
    """A format table. Raises: UnsupportedError: a type that Hive has not."""
    chosen = schema.options[table_options.FILE_FORMAT.key]
    parameters = {**schema.options, TABLE_TYPE: chosen.upper(), "file.format": chosen, "type": "format-table"}
    table = _new(database, name, parameters, place)
    table.sd = _descriptor(_OF_FORMAT[chosen])
    if chosen == "csv":
        table.sd.serdeInfo.parameters = {
            _DELIMITER: schema.options.get(CSV_FIELD_DELIMITER.key, CSV_FIELD_DELIMITER.default)
        }
    _set_columns(table, schema, schema.partition_keys)
    _set_place(table, schema.comment, place)
    return table


def describe(table: Struct, schema: TableSchema, place: Place) -> None:
    """Give the object of a table of Paimon the columns, comment and place of a schema. Raises: OptionError."""
    table.sd = table.sd or _descriptor(PAIMON)
    field_of_tags = schema.model.metastore_tag_to_partition
    if schema.partition_keys and schema.model.metastore_partitioned_table:
        _set_columns(table, schema, schema.partition_keys)
    else:
        check_tag_field(schema, f"{table.dbName}.{table.tableName}")
        _set_columns(table, schema, ())
        if field_of_tags is not None:
            table.partitionKeys = [thrift().FieldSchema(name=field_of_tags, type="string")]
    _set_place(table, schema.comment, place)


def check_tag_field(schema: TableSchema, where: str) -> None:
    """Raises: OptionError: tags cannot be the partitions of a table that has some."""
    if schema.partition_keys and schema.model.metastore_tag_to_partition is not None:
        fix = "Unset 'metastore.tag-to-partition', or make the table without partition columns."
        raise OptionError("'metastore.tag-to-partition' of a table with partition columns", where, fix)


def properties_of(schema: TableSchema) -> dict[str, str]:
    """What the metastore shows of a table to other programs: its options and keys."""
    keys = {"primary-key": schema.primary_keys, "partition": schema.partition_keys, "bucket-key": schema.bucket_keys}
    return {**schema.options, **{key: ",".join(names) for key, names in keys.items() if names}}


def update_parameters(table: Struct, schema: TableSchema, removed: Sequence[str], *, sync: bool) -> None:
    """Let the parameters follow a change of the table; what others put there stays."""
    parameters = dict(table.parameters or {}) | (properties_of(schema) if sync else _hive_options(schema.options))
    table.parameters = {key: value for key, value in parameters.items() if key not in removed}


def _hive_options(options: Mapping[str, str]) -> dict[str, str]:
    return {key.removeprefix(_HIVE_PREFIX): value for key, value in options.items() if key.startswith(_HIVE_PREFIX)}


def _new(database: str, name: str, parameters: Mapping[str, str], place: Place) -> Struct:
    now = int(time.time())
    return thrift().Table(
        tableName=name,
        dbName=database,
        owner=getpass.getuser(),
        createTime=now,
        lastAccessTime=now,
        retention=_MAX_INT,
        partitionKeys=[],
        parameters={**parameters, **({"EXTERNAL": "TRUE"} if place.external else {})},
        tableType=EXTERNAL if place.external else MANAGED,
    )


def _descriptor(classes: Classes, buckets: int = 0) -> Struct:
    hive = thrift()
    return hive.StorageDescriptor(
        cols=[],
        inputFormat=classes.input_format,
        outputFormat=classes.output_format,
        compressed=False,
        numBuckets=buckets,
        serdeInfo=hive.SerDeInfo(serializationLib=classes.serde, parameters={}),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )


def _set_columns(table: Struct, schema: TableSchema, partition_keys: Sequence[str]) -> None:
    table.sd.cols = [_column(field) for field in schema.fields if field.name not in partition_keys]
    if partition_keys:
        table.partitionKeys = [_column(schema.field(name)) for name in partition_keys]


def _column(field: DataField) -> Struct:
    return thrift().FieldSchema(name=field.name, type=hive_type(field.type), comment=field.description)


def _set_place(table: Struct, comment: str | None, place: Place) -> None:
    if comment is not None:
        table.parameters[COMMENT] = comment
    if place.in_properties:
        table.parameters[LOCATION_PROPERTY] = place.location
    else:
        table.sd.location = place.location


def columns_of(table: Struct) -> tuple[DataField, ...]:
    """The columns of any table of Hive, partition columns last. Raises: UnsupportedError."""
    columns = [*(table.sd.cols or ()), *(table.partitionKeys or ())]
    return tuple(DataField(i, c.name, type_of_hive(c.type), c.comment) for i, c in enumerate(columns))


def format_schema(table: Struct) -> TableSchema | None:
    """The schema of a table whose files can be read as a format table, None for any other."""
    sd = table.sd
    if table.tableType == VIEW or sd is None or sd.serdeInfo is None:
        return None
    options = dict(table.parameters or {})
    comment = options.pop(COMMENT, None)
    serde = (sd.serdeInfo.serializationLib or "").lower()
    chosen = next((name for name in ("parquet", "orc") if name in serde), None)
    if chosen is None and "Text" in (sd.inputFormat or ""):
        chosen = "json" if "json" in serde else "text" if options.get(TABLE_TYPE) == "TEXT" else "csv"
    if chosen is None:
        return None
    if chosen == "csv":
        options[CSV_FIELD_DELIMITER.key] = (sd.serdeInfo.parameters or {}).get(_DELIMITER, _HIVE_DELIMITER)
    try:
        fields = columns_of(table)
    except UnsupportedError:
        return None
    options |= {"path": sd.location or "", "type": "format-table", "file.format": chosen}
    keys = tuple(column.name for column in table.partitionKeys or ())
    return TableSchema(0, fields, len(fields) - 1, keys, (), options, comment)


def is_object_of_users(table: Struct) -> bool:
    """Whether it is an object table over a folder of the user's, whose definition the metastore has."""
    kind = (table.parameters or {}).get(table_options.TYPE.key)
    return table.tableType == EXTERNAL and kind == object_table.TYPE


def object_schema(table: Struct) -> TableSchema:
    """The schema of an object table, from the metastore's parameters."""
    parameters = dict(table.parameters or {})
    options = {key: value for key, value in parameters.items() if key not in METASTORE_PARAMETERS}
    fields, created = object_fields(), int(table.createTime or 0) * 1000
    return TableSchema(0, fields, len(fields) - 1, (), (), options, parameters.get(COMMENT), created)


def view_object(database: str, name: str, view: View) -> Struct:
    """A view; Hive keeps no dialects. Raises: UnsupportedError: a type that Hive has not."""
    sd = _descriptor(_OF_VIEWS, buckets=-1)
    sd.serdeInfo.parameters = {"serialization.format": "1"}
    sd.cols = [_column(field) for field in view.columns()]
    comment = {} if view.comment is None else {COMMENT: view.comment}
    return thrift().Table(
        tableName=name,
        dbName=database,
        createTime=int(time.time()),
        lastAccessTime=0,
        retention=0,
        sd=sd,
        partitionKeys=[],
        parameters={**{key: str(value) for key, value in view.options.items()}, **comment},
        viewOriginalText=view.query,
        viewExpandedText=view.query,
        tableType=VIEW,
    )


def view_of(table: Struct) -> View:
    """Raises: UnsupportedError: a column's type is not one of Paimon."""
    options = dict(table.parameters or {})
    comment = options.pop(COMMENT, None)
    return View(columns_of(table), table.viewExpandedText or "", {}, comment, options)
