"""Other formats and compressions of data files, tried on the rows of one: bytes, and seconds to read them again."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from maintenance.errors import PaimonError
from maintenance.format.data_format import FileSettings
from maintenance.format.data_formats import DATA_FORMATS
from maintenance.operations.indexes.advise_file_index import rows_of_file
from maintenance.options import table as table_options
from maintenance.table.table import Table

ROWS = 1_000_000
"""At most so many of the file are tried."""
_TIMES = 3
_OTHERS = (("parquet", "zstd", 1), ("parquet", "zstd", 3), ("parquet", "zstd", 9), ("parquet", "lz4", 1),
           ("parquet", "snappy", 1), ("orc", "zstd", 1), ("orc", "zstd", 3))  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileTrial:
    """What the sample is like in a format. `seconds`: to decode it, the least of some times."""

    format: str
    compression: str
    zstd_level: int
    bytes: int
    seconds: float

    @property
    def text(self) -> str:
        """The settings: ``parquet, zstd 3``."""
        level = f" {self.zstd_level}" if self.compression == "zstd" else ""
        return f"{self.format}, {self.compression}{level}"

    @property
    def options(self) -> dict[str, str]:
        """Those that set it."""
        found = {
            table_options.FILE_FORMAT.key: self.format,
            table_options.FILE_COMPRESSION.key: self.compression,
        }
        if self.compression == "zstd":
            found[table_options.FILE_COMPRESSION_ZSTD_LEVEL.key] = str(self.zstd_level)
        return found


def file_trials(table: Table) -> list[FileTrial]:
    """How a data file of usual size would be in each format, as it is set now first; nothing without files."""
    snapshot = table.latest_snapshot()
    entries = [] if snapshot is None else table.manifests.live_entries(snapshot)
    if not entries:
        return []
    entry = sorted(entries, key=lambda each: each.file.file_size)[len(entries) // 2]
    rows = rows_of_file(table, entry, table.schema.fields).slice(0, ROWS)
    return list(_trials(table, rows))


def _trials(table: Table, rows: pa.Table) -> Iterator[FileTrial]:
    options = table.options
    own = (
        options.file_format,
        options.file_compression.lower(),
        options.file_compression_zstd_level,
    )
    for tried in dict.fromkeys((own, *_OTHERS)):
        try:
            yield _trial(table, rows, FileSettings(*tried, options=options))
        except PaimonError:
            # A type that this format cannot hold, or a codec that it does not have.
            if tried == own:
                return


def _trial(table: Table, rows: pa.Table, settings: FileSettings) -> FileTrial:
    form, fields = DATA_FORMATS[settings.format], table.schema.fields
    sink = pa.BufferOutputStream()
    writer = form.prepare_writer(fields, settings)(sink)
    writer.write(rows)
    writer.close()
    data = sink.getvalue()
    took = []
    for _ in range(_TIMES):
        started = time.perf_counter()
        form.open_reader(pa.BufferReader(data), f"sample.{form.name}", table.options, fields).read(fields)
        took.append(time.perf_counter() - started)
    return FileTrial(settings.format, settings.compression, settings.zstd_level, data.size, min(took))
