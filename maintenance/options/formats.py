"""Options of file formats: those of data files, and those of the files of format tables.

What begins with ``parquet.`` or ``orc.`` goes to the writer of the format. Source: Java `CsvOptions`, `JsonOptions`,
`TextOptions`, `OrcOptions`, `CoreOptions`.
"""

from typing import Any

from maintenance.options.option import Option, boolean, integer, names, not_empty, number, one_of, positive, string

# Of format tables.
FORMAT_TABLE_FILE_COMPRESSION = Option("file.compression", string, "", ("format-table.file.compression",))
FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE = Option("format-table.partition-path-only-value", boolean, False)
CSV_FIELD_DELIMITER = Option("csv.field-delimiter", not_empty, ",", ("field-delimiter", "seq"))
CSV_LINE_DELIMITER = Option("csv.line-delimiter", not_empty, "\n", ("line-delimiter", "lineSep"))
CSV_QUOTE_CHARACTER = Option("csv.quote-character", not_empty, '"', ("quote-character", "quote"))
CSV_ESCAPE_CHARACTER = Option("csv.escape-character", not_empty, "\\", ("escape-character", "escape"))
CSV_INCLUDE_HEADER = Option("csv.include-header", boolean, False, ("include-header", "header"))
CSV_NULL_LITERAL = Option("csv.null-literal", string, "", ("null-literal", "nullvalue"))
CSV_MODE = Option("csv.mode", one_of("permissive", "dropmalformed", "failfast"), "permissive", ("mode",))
JSON_LINE_DELIMITER = Option("json.line-delimiter", not_empty, "\n")
TEXT_LINE_DELIMITER = Option("text.line-delimiter", not_empty, "\n", ("lineSep",))
OF_PLAIN_FILES: tuple[Option[Any], ...] = (
    FORMAT_TABLE_FILE_COMPRESSION, CSV_FIELD_DELIMITER, CSV_LINE_DELIMITER, CSV_QUOTE_CHARACTER, CSV_ESCAPE_CHARACTER,
    CSV_INCLUDE_HEADER, CSV_NULL_LITERAL, CSV_MODE, JSON_LINE_DELIMITER, TEXT_LINE_DELIMITER,
)  # fmt: skip

# Of data files.
PARQUET_BLOCK_SIZE: Option[int | None] = Option("parquet.block.size", integer, None)
PARQUET_ENABLE_DICTIONARY = Option("parquet.enable.dictionary", boolean, True)
ORC_STRIPE_SIZE: Option[int | None] = Option("orc.stripe.size", integer, None)
MOSAIC_NUM_BUCKETS: Option[int | None] = Option("mosaic.num-buckets", positive, None)
MOSAIC_STATS_COLUMNS: Option[tuple[str, ...]] = Option("mosaic.stats-columns", names, ())
ORC_TIMESTAMP_LTZ_LEGACY_TYPE = Option("orc.timestamp-ltz.legacy.type", boolean, True)

# Of VARIANT columns.
VARIANT_SHREDDING_SCHEMA: Option[str | None] = Option(
    "variant.shreddingSchema", string, None, ("parquet.variant.shreddingSchema",)
)
VARIANT_INFER_SHREDDING_SCHEMA = Option("variant.inferShreddingSchema", boolean, False)
VARIANT_SHREDDING_MAX_SCHEMA_WIDTH = Option("variant.shredding.maxSchemaWidth", integer, 300)
VARIANT_SHREDDING_MAX_SCHEMA_DEPTH = Option("variant.shredding.maxSchemaDepth", integer, 50)
VARIANT_SHREDDING_MIN_FIELD_CARDINALITY_RATIO = Option("variant.shredding.minFieldCardinalityRatio", number, 0.1)
VARIANT_SHREDDING_MAX_INFER_BUFFER_ROW = Option("variant.shredding.maxInferBufferRow", positive, 4096)

# What the writers of a format take, without the prefix: they follow the first, and pass over the second, which say how
# much a writer gathers before it looks at sizes, how it pads blocks of HDFS, and what only readers look at. All other
# keys are refused when files are written.
PARQUET_HONOURED = (
    "compression", "compression.codec.zstd.level", "enable.dictionary", "page.size", "dictionary.page.size",
    "writer.version", "block.size", "variant.shreddingSchema",
)  # fmt: skip
PARQUET_HARMLESS = (
    "page.row.count.limit", "writer.max-padding", "page.size.row.check.min", "page.size.row.check.max", "validation",
    "filter.stats.enabled", "filter.dictionary.enabled", "filter.columnindex.enabled", "read.async.enabled",
)  # fmt: skip
ORC_HONOURED = (
    "compress", "compress.size", "compression.zstd.level", "stripe.size", "row.index.stride",
    "dictionary.key.threshold", "bloom.filter.columns", "bloom.filter.fpp", "timestamp-ltz.legacy.type",
)  # fmt: skip
ORC_HARMLESS = (
    "write.batch-size", "block.padding", "block.padding.tolerance", "block.size", "rows.between.memory.checks",
)  # fmt: skip
AVRO_HONOURED = ("codec",)
MOSAIC_HONOURED = ("stats-columns", "num-buckets")
