"""Which format, codec and statistics the files of a level get. Source: Java `KeyValueFileWriterFactory`, `CoreOptions`.

Levels have settings of their own in tables with a primary key only; what a level does not say the table says. Changelog
files may differ from the files of their level once more.
"""

from collections.abc import Mapping

from maintenance.format.data_format import FileSettings
from maintenance.options import table as table_options
from maintenance.options.option import Option
from maintenance.write.context import WriteContext

_BLOCK_KEYS = {"parquet": "parquet.block.size", "orc": "orc.stripe.size"}
_BLOCK_BYTES = 128 << 20


def file_settings(context: WriteContext, level: int, *, changelog: bool) -> FileSettings:
    """How files of a level, or the changelog files of a compaction to it, are written. Raises: OptionError."""
    options = context.options
    chosen = _of_level(context, level, table_options.FILE_FORMAT, table_options.FILE_FORMAT_PER_LEVEL)
    compression = _of_level(context, level, table_options.FILE_COMPRESSION, table_options.FILE_COMPRESSION_PER_LEVEL)
    if changelog:
        chosen = table_options.CHANGELOG_FILE_FORMAT.of(options) or chosen
        compression = table_options.CHANGELOG_FILE_COMPRESSION.of(options) or compression
    own_block = options.get(_BLOCK_KEYS.get(chosen.lower(), ""))
    return FileSettings(
        chosen.lower(),
        compression.lower(),
        table_options.FILE_COMPRESSION_ZSTD_LEVEL.of(options),
        table_options.FILE_BLOCK_SIZE.of(options) or (int(own_block) if own_block else _BLOCK_BYTES),
        context.target_file_size,
        options,
    )


def stats_mode(context: WriteContext, level: int, *, changelog: bool) -> str:
    """The text of the statistics mode of a level, for columns without a mode of their own."""
    mode = _of_level(context, level, table_options.METADATA_STATS_MODE, table_options.METADATA_STATS_MODE_PER_LEVEL)
    return table_options.CHANGELOG_FILE_STATS_MODE.of(context.options) or mode if changelog else mode


def max_file_rows(options: Mapping[str, str]) -> int | None:
    """Rows at which a file that is no result of a compaction is closed; None = any number."""
    return table_options.TARGET_FILE_ROW_NUM.of(options)


def _of_level(context: WriteContext, level: int, of_table: Option[str], of_levels: Option[Mapping[int, str]]) -> str:
    levels = of_levels.of(context.options) if context.has_primary_key else {}
    return levels.get(level, of_table.of(context.options))
