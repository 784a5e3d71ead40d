"""Which format, codec and statistics the files of a level get. Source: Java `KeyValueFileWriterFactory`, `CoreOptions`.

Levels have settings of their own in tables with a primary key only; what a level does not say the table says. Changelog
files may differ from the files of their level once more.
"""

from collections.abc import Iterable, Mapping, Sequence

from maintenance.errors import OptionError, UnsupportedError
from maintenance.format.data_format import FileSettings
from maintenance.format.data_formats import data_format
from maintenance.format.metadata.schema import TableSchema
from maintenance.options import table as table_options
from maintenance.options.formats import ORC_STRIPE_SIZE, PARQUET_BLOCK_SIZE
from maintenance.options.model import TableModel
from maintenance.options.option import Option
from maintenance.types.data_type import DataField

_BLOCK_KEYS: Mapping[str, Option[int | None]] = {
    "parquet": PARQUET_BLOCK_SIZE,
    "orc": ORC_STRIPE_SIZE,
}
_BLOCK_BYTES = 128 << 20
_COMPRESSED_AS_ASKED = ("parquet", "avro")


def file_settings(schema: TableSchema, options: TableModel, level: int, *, changelog: bool = False) -> FileSettings:
    """How files of a level, or the changelog files of a compaction to it, are written. Raises: OptionError."""
    keyed = bool(schema.primary_keys)
    chosen = _of_level(options, keyed, level, table_options.FILE_FORMAT, table_options.FILE_FORMAT_PER_LEVEL)
    compression = _of_level(
        options, keyed, level, table_options.FILE_COMPRESSION, table_options.FILE_COMPRESSION_PER_LEVEL
    )
    if changelog:
        chosen = table_options.CHANGELOG_FILE_FORMAT.of(options) or chosen
        compression = table_options.CHANGELOG_FILE_COMPRESSION.of(options) or compression
    own_block = _BLOCK_KEYS[chosen.lower()].of(options) if chosen.lower() in _BLOCK_KEYS else None
    return FileSettings(
        chosen.lower(),
        compression.lower(),
        options.file_compression_zstd_level,
        options.file_block_size or own_block or _BLOCK_BYTES,
        options.target_file_size(keyed),
        options,
    )


def check_formats(schema: TableSchema, options: TableModel, where: str) -> None:
    """Check that files of every level and of vectors can be written. Raises: OptionError, UnsupportedError."""
    vectors = vectors_apart(schema.fields, options)
    if vectors:
        _check_format(vectors, file_settings(schema, TableModel.of(of_vector_files(options)), 0), where)
    fields = [field for field in schema.fields if field not in vectors]
    per_level = (table_options.FILE_FORMAT_PER_LEVEL, table_options.FILE_COMPRESSION_PER_LEVEL)
    levels = {level for option in per_level for level in option.of(options)}
    for level in (-1, *sorted(levels)):  # no level is -1: it has what the table says
        for changelog in (False, True):
            settings = file_settings(schema, options, level, changelog=changelog)
            _check_thin(schema, settings, where)
            _check_format(fields, settings, where)


def _check_format(fields: Sequence[DataField], settings: FileSettings, where: str) -> None:
    try:
        data_format(settings.format, where).prepare_writer(fields, settings)
    except (OptionError, UnsupportedError) as error:
        raise error.at(f"{where}, {error.where}") from error


def vectors_apart(fields: Iterable[DataField], options: TableModel) -> tuple[DataField, ...]:
    """Those of the columns that go to files of vectors."""
    if options.vector_file_format is None:
        return ()
    return tuple(field for field in fields if field.type.root == "VECTOR")


def of_vector_files(options: TableModel) -> dict[str, str]:
    """The options of a table for its files of vectors: without a compression that their format lacks."""
    chosen = dict(options)
    name = chosen.pop(table_options.VECTOR_FILE_FORMAT.key)
    chosen[table_options.FILE_FORMAT.key] = name
    if name.lower() not in _COMPRESSED_AS_ASKED:
        chosen.pop(table_options.FILE_COMPRESSION.key, None)
    return chosen


def _check_thin(schema: TableSchema, settings: FileSettings, where: str) -> None:
    """A row file does not say which columns it has, and Java takes every one for a whole one."""
    if settings.format == "row" and schema.primary_keys and settings.options.data_file_thin_mode:
        raise UnsupportedError(
            f"'{table_options.DATA_FILE_THIN_MODE.key}' = 'true' together with files of format row",
            where,
            "Unset it, or use another format: Apache Paimon cannot read such files.",
        )


def stats_mode(schema: TableSchema, options: TableModel, level: int, *, changelog: bool = False) -> str:
    """The text of the statistics mode of a level, for columns without a mode of their own."""
    by_table, by_level = table_options.METADATA_STATS_MODE, table_options.METADATA_STATS_MODE_PER_LEVEL
    mode = _of_level(options, bool(schema.primary_keys), level, by_table, by_level)
    return table_options.CHANGELOG_FILE_STATS_MODE.of(options) or mode if changelog else mode


def max_file_rows(options: TableModel) -> int | None:
    """Rows at which a file that is not a result of a compaction is closed; None = any number."""
    return table_options.TARGET_FILE_ROW_NUM.of(options)


def _of_level(
    options: TableModel, keyed: bool, level: int, by_table: Option[str], by_level: Option[Mapping[int, str]]
) -> str:
    levels = by_level.of(options) if keyed else {}
    return levels.get(level, by_table.of(options))
