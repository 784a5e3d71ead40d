"""A file of a format table, whatever its format: bytes to rows and back. Source: Java `FormatTable.Format`."""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc

from maintenance.errors import CorruptFileError, DataError, OptionError, UnsupportedError
from maintenance.format.data_format import decoding
from maintenance.format.plain.csv import CsvLayout, parse_csv, serialize_csv
from maintenance.format.plain.json_lines import parse_json_lines, serialize_json_lines
from maintenance.format.variant.extension import plain_schema
from maintenance.options.formats import FORMAT_TABLE_FILE_COMPRESSION, JSON_LINE_DELIMITER, TEXT_LINE_DELIMITER
from maintenance.types.data_type import DataField

FORMATS = ("orc", "parquet", "csv", "text", "json")
_DEFAULT_COMPRESSION = {"parquet": "snappy", "orc": "zstd"}
_TEXT_FORMATS = ("csv", "text", "json")
_GZIP = ("gzip", "gz")
_READ_AHEAD = 256 << 10


def check_format(name: str, table: str) -> str:
    """The format in lower case. Raises: UnsupportedError: no format table can have it."""
    if name.lower() not in FORMATS:
        raise UnsupportedError(
            f"'file.format' = '{name}' is not a format of format tables", f"table {table}", f"Use {', '.join(FORMATS)}."
        )
    return name.lower()


@dataclass(frozen=True, slots=True)
class PlainFiles:
    """`format`: one of `FORMATS`; `fields`: the columns in the files, without the partition columns."""

    format: str
    fields: tuple[DataField, ...]
    options: Mapping[str, str]

    @property
    def schema(self) -> pa.Schema:
        return plain_schema(self.fields)

    @property
    def compression(self) -> str:
        chosen = FORMAT_TABLE_FILE_COMPRESSION.of(self.options) or _DEFAULT_COMPRESSION.get(self.format, "none")
        return chosen.lower()

    @property
    def suffix(self) -> str:
        """The end of a new file's name."""
        zipped = self.format in _TEXT_FORMATS and self._zipped()
        return f".{self.format}" + (".gz" if zipped else "")

    def _zipped(self) -> bool:
        if self.compression in _GZIP:
            return True
        if self.compression == "none":
            return False
        problem = f"compression '{self.compression}' is not supported for {self.format} files"
        raise OptionError(problem, "format table", "Set 'file.compression' to gzip, or to none.")

    def parse(self, data: bytes, where: str) -> pa.Table:
        """The rows of a file; a column that it lacks is null. Raises: CorruptFileError, DataError."""
        try:
            content = gzip.decompress(data) if where.endswith(".gz") and self.format in _TEXT_FORMATS else data
            match self.format:
                case "csv":
                    return parse_csv(content, self.fields, CsvLayout.of(self.options), where)
                case "json":
                    return parse_json_lines(content, self.fields, where, JSON_LINE_DELIMITER.of(self.options))
                case "text":
                    return self._lines(content)
            reader = pa.BufferReader(content)
            table = orc.read_table(reader) if self.format == "orc" else pq.read_table(reader)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            first = str(error).splitlines()[0]
            raise CorruptFileError(f"not a valid {self.format} file: {first}", where, "Restore the file.") from error
        return self._conformed(table)

    def batches(self, source: pa.NativeFile, where: str, batch_rows: int) -> Iterator[pa.Table]:
        """As `parse`, of a Parquet or ORC file, in tables that are decoded as they are asked for.

        Args: `batch_rows`: rows of each; an ORC file is decoded stripe by stripe.
        """
        with decoding(where, f"not a valid {self.format} file"):
            file = (
                orc.ORCFile(source)
                if self.format == "orc"
                else pq.ParquetFile(source, pre_buffer=False, buffer_size=_READ_AHEAD)
            )
        if isinstance(file, orc.ORCFile):
            parts: Iterator[pa.RecordBatch] = map(file.read_stripe, range(file.nstripes))
        else:
            parts = file.iter_batches(batch_rows, use_threads=False)
        while True:
            with decoding(where, f"not a valid {self.format} file"):
                part = next(parts, None)
            if part is None:
                return
            yield self._conformed(pa.Table.from_batches([part]))

    def _lines(self, content: bytes) -> pa.Table:
        self._check_text()
        end = TEXT_LINE_DELIMITER.of(self.options)
        lines = content.decode().removesuffix(end).split(end) if content else []
        return pa.table({self.fields[0].name: pa.array(lines, pa.string())})

    def _check_text(self) -> None:
        if len(self.fields) != 1 or not self.fields[0].type.is_string:
            names = ", ".join(f"{field.name} {field.type}" for field in self.fields)
            raise DataError(
                f"a text file has one STRING column, not {names}", "format table", "Set 'file.format' to csv or json."
            )

    def _conformed(self, table: pa.Table) -> pa.Table:
        present = {name.lower(): name for name in table.column_names}
        columns = [
            table[present[field.name.lower()]].cast(field.type, safe=False)
            if field.name.lower() in present
            else pa.chunked_array([pa.nulls(table.num_rows, field.type)])
            for field in self.schema
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def serialize(self, rows: pa.Table) -> bytes:
        """Rows as a file. Raises: DataError, UnsupportedError: it cannot hold a column."""
        if self.format in _TEXT_FORMATS:
            content = self._text(rows)
            return gzip.compress(content) if self._zipped() else content
        sink = pa.BufferOutputStream()
        codec = "uncompressed" if self.compression == "none" else self.compression
        if self.format == "orc":
            orc.write_table(rows, sink, compression=codec)
        else:
            pq.write_table(rows, sink, compression="none" if codec == "uncompressed" else codec, store_schema=False)
        return bytes(sink.getvalue())

    def _text(self, rows: pa.Table) -> bytes:
        match self.format:
            case "csv":
                return serialize_csv(rows, self.fields, CsvLayout.of(self.options))
            case "json":
                return serialize_json_lines(rows, self.fields, JSON_LINE_DELIMITER.of(self.options))
        self._check_text()
        lines: Sequence[str] = pc.fill_null(rows[self.fields[0].name].cast(pa.string()), "").to_pylist()
        end = TEXT_LINE_DELIMITER.of(self.options)
        return "".join(f"{line}{end}" for line in lines).encode()
