"""Format tables: folders of CSV, JSON, text, Parquet or ORC files, without snapshots. Source: Java `FormatTable`.

All files below the folder are read, but those whose name, or whose folder's name, begins with `_` or `.`. A write adds
files, each complete at once; several files of one write do not appear together.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.commit.overwrite import Overwrite
from maintenance.errors import CorruptFileError, DataError, NotFoundError
from maintenance.format.plain.files import PlainFiles, check_format
from maintenance.format.plain.texts import cast_texts, texts_of
from maintenance.format.variant.extension import plain, plain_schema
from maintenance.metadata.partition_path import escape
from maintenance.metadata.paths import matches_spec
from maintenance.options import table as table_options
from maintenance.options.formats import FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE, OF_PLAIN_FILES
from maintenance.table.folder_table import FolderTable
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField
from maintenance.types.values import Value, values_of_arrow
from maintenance.write.rows import fitting

TYPE = "format-table"
_TAKEN = (
    *OF_PLAIN_FILES,
    FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE,
    table_options.PARTITION_DEFAULT_NAME,
    table_options.DYNAMIC_PARTITION_OVERWRITE,
)

Spec = dict[str, str]


class PartitionRegister(Protocol):
    """Where the catalog keeps the partitions of a format table."""

    def add(self, specs: Sequence[Mapping[str, str]]) -> None:
        """Register partitions; those that are known are passed over."""

    def all(self) -> Sequence[Mapping[str, str]]:
        """The registered partitions."""

    def drop(self, specs: Sequence[Mapping[str, str]]) -> None:
        """Forget partitions, never their files; unknown ones are passed over."""


@dataclass(frozen=True, slots=True)
class FormatTable(FolderTable):
    """A table over the files of a folder.

    Attributes:
        location: the folder; `schema`: as the catalog has it.
        register: the catalog's partitions; None = they are those of the folders.
    """

    register: PartitionRegister | None = None

    kind = "a format table"
    may = "Read it, add rows, overwrite or truncate it; or make a table of Paimon of it, by sys.migrate_table."
    taken = frozenset(key for option in _TAKEN for key in option.keys)

    @property
    def format(self) -> str:
        return check_format(self.options.file_format, self.name)

    @property
    def _files(self) -> PlainFiles:
        keys = self.schema.partition_keys
        plain = tuple(field for field in self.schema.fields if field.name not in keys)
        return PlainFiles(self.format, plain, self.options)

    @property
    def _arrow(self) -> pa.Schema:
        return plain_schema(self.fields)

    # Reading

    def rows(self, options: Mapping[str, str]) -> pa.Table:
        """All rows of all files. Raises: CorruptFileError, DataError: a file cannot be read."""
        table = self.copy(options) if options else self
        tables = [table.rows_of(path, spec) for path, spec in table.data_files()]
        return pa.concat_tables(tables) if tables else table._arrow.empty_table()

    def rows_of(self, path: str, spec: Spec) -> pa.Table:
        """The rows of one of the `data_files`, with its partition. Raises: CorruptFileError, DataError."""
        where, wanted = f"{self.location}/{path}", self._arrow
        part = self._files.parse(self.file_io.read_bytes(where), where)
        part = self._with_partition(part, spec, where).select(wanted.names)
        return plain(part, self.fields).cast(wanted)

    def batches_of(self, path: str, spec: Spec, batch_rows: int) -> Iterator[pa.Table]:
        """As `rows_of`, for a Parquet or ORC file, in tables that are decoded one after the other."""
        where, wanted = f"{self.location}/{path}", self._arrow
        with self.file_io.open_input(where) as source:
            for part in self._files.batches(source, where, batch_rows):
                rows = self._with_partition(part, spec, where).select(wanted.names)
                yield plain(rows, self.fields).cast(wanted)

    def partition_of(self, spec: Spec) -> pa.Table:
        """The values of a partition, as one row."""
        one = self._with_partition(pa.table({"": pa.nulls(1)}), spec, self.location)
        fields = self.schema.partition_fields
        return pa.table({field.name: one[field.name].cast(arrow_type(field.type)) for field in fields})

    def data_files(self) -> list[tuple[str, Spec]]:
        """The path below the folder, and the partition, of each data file."""
        files = []
        for status in self.file_io.list_tree(self.location):
            folders = status.path.split("/")
            if not any(part.startswith(("_", ".")) for part in self._without_default(folders)):
                files.append((status.path, self._spec_of(folders[:-1])))
        return files

    def _without_default(self, folders: Sequence[str]) -> list[str]:
        # With `partition-path-only-value` a null is a folder `__DEFAULT_PARTITION__`.
        return [part for part in folders if part != self._default_name]

    @property
    def _default_name(self) -> str:
        return self.options.partition_default_name

    def _spec_of(self, folders: Sequence[str]) -> Spec:
        keys = self.schema.partition_keys
        if not keys:
            return {}
        if len(folders) < len(keys):
            raise CorruptFileError(
                f"a file lies outside the partitions {', '.join(keys)}", self.location, "Move it into a partition."
            )
        if self._only_value:
            return {key: unquote(folder) for key, folder in zip(keys, folders, strict=False)}
        pairs = dict(folder.partition("=")[::2] for folder in folders[: len(keys)])
        if set(pairs) != set(keys):
            raise CorruptFileError(
                f"folder '{'/'.join(folders)}' is not a partition of {', '.join(keys)}",
                self.location,
                f"Rename the folder to {'/'.join(f'{key}=…' for key in keys)}.",
            )
        return {key: unquote(pairs[key]) for key in keys}

    @property
    def _only_value(self) -> bool:
        return FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE.of(self.options)

    def _with_partition(self, rows: pa.Table, spec: Spec, where: str) -> pa.Table:
        for key, text in spec.items():
            try:
                value = self.partition_value(key, text)
            except DataError as error:
                raise error.at(where) from error
            rows = rows.append_column(key, pa.repeat(value, rows.num_rows))
        return rows

    def partition_value(self, key: str, text: str) -> pa.Scalar:
        """The value that a folder's name stands for. Raises: DataError: it does not fit the column's type."""
        known = None if text == self._default_name else text
        return cast_texts(pa.array([known], pa.string()), self.schema.field(key).type)[0]

    def partition_values(self, spec: Spec) -> dict[str, Value]:
        """The values that a partition's folders stand for. Raises: DataError: one does not fit its column's type."""
        scalars = {key: self.partition_value(key, text) for key, text in spec.items()}
        return {key: values_of_arrow(pa.repeat(scalar, 1))[0] for key, scalar in scalars.items()}

    def partitions(self) -> list[tuple[Spec, int, int]]:
        """The partitions that have files: columns to texts, number of files, their bytes."""
        sizes: dict[tuple[tuple[str, str], ...], list[int]] = {}
        by_path = {status.path: status.size for status in self.file_io.list_tree(self.location)}
        for path, spec in self.data_files():
            sizes.setdefault(tuple(spec.items()), []).append(by_path[path])
        return [(dict(spec), len(of_files), sum(of_files)) for spec, of_files in sizes.items()]

    # Writing

    def write_arrow(self, data: pa.Table | pa.RecordBatch) -> tuple[int, ...]:
        """Add rows as new files. Returns no snapshot ids: there are none. Raises: DataError, UnsupportedError."""
        self._write(self._conformed(data))
        return ()

    def overwrite_arrow(
        self,
        data: pa.Table | pa.RecordBatch,
        overwrite: Overwrite = Overwrite(),  # noqa: B008 - frozen
    ) -> tuple[int, ...]:
        """Replace partitions, or all rows. The old files are deleted once the new ones are written.

        Without partitions named, those that get rows are replaced if `dynamic-partition-overwrite` is on.
        """
        rows = self._conformed(data)
        self._check_partitions(overwrite.partitions or ())
        before = self.data_files()
        new = [spec for spec, _ in self._groups(rows)]
        chosen = None if overwrite.partitions is None else [self._folder_texts(spec) for spec in overwrite.partitions]
        if chosen is not None and any(not matches_spec(spec, chosen) for spec in new):
            fix = "Leave the rows of other partitions out of the INSERT OVERWRITE."
            raise DataError("rows are of a partition that is not overwritten", f"table {self.name}", fix)
        dynamic = overwrite.dynamic
        if dynamic is None:
            dynamic = self.options.dynamic_partition_overwrite
        if dynamic and self.schema.partition_keys:
            chosen = [spec for spec in new if chosen is None or matches_spec(spec, chosen)]
        self._write(rows)
        self._delete([file for file in before if chosen is None or matches_spec(file[1], chosen)])
        return ()

    def truncate(self, partitions: Sequence[Mapping[str, str]] | None = None) -> tuple[int, ...]:
        """Delete all files, or those of partitions: columns to texts, some of the columns suffice.

        Returns no snapshot ids: there are none. Raises: DataError: one names no partition column.
        """
        self._check_partitions(partitions or ())
        self._delete([file for file in self.data_files() if partitions is None or matches_spec(file[1], partitions)])
        return ()

    def drop_partitions(
        self, partitions: Sequence[Mapping[str, str]], *, ignore_if_not_exists: bool = False
    ) -> tuple[int, ...]:
        """Delete the files of partitions, and their folders if nothing else is in them. The catalog forgets them first.

        Returns no snapshot ids. Raises: DataError: see `truncate`; NotFoundError: one does not exist, none is dropped.
        """
        self._check_partitions(partitions)
        files = self.data_files()
        registered = self.register.all() if self.register is not None else ()
        for wanted in partitions:
            known = chain((spec for _, spec in files), registered)
            if not ignore_if_not_exists and not any(matches_spec(spec, [wanted]) for spec in known):
                shown = "/".join(f"{key}={text}" for key, text in wanted.items())
                fix = "Name a partition that SHOW PARTITIONS lists."
                raise NotFoundError(f"partition {shown} does not exist", f"table {self.name}", fix)
        if self.register is not None:
            # A drop that ends halfway leaves files behind rather than a partition with a part of its rows.
            self.register.drop([spec for spec in registered if matches_spec(spec, partitions)])
        gone = [file for file in files if matches_spec(file[1], partitions)]
        self._delete(gone)
        for folder in sorted({path.rpartition("/")[0] for path, _ in gone}):
            while folder and self.file_io.delete_empty_folder(f"{self.location}/{folder}"):
                folder = folder.rpartition("/")[0]
        return ()

    def _check_partitions(self, partitions: Sequence[Mapping[str, str | None]]) -> None:
        for spec in partitions:
            unknown = [key for key in spec if key not in self.schema.partition_keys]
            if unknown or not spec:
                named = ", ".join(self.schema.partition_keys) or "none"
                fix = f"Partition columns are: {named}."
                raise DataError(f"{dict(spec)} is not a partition", f"table {self.name}", fix)

    def _delete(self, files: Sequence[tuple[str, Spec]]) -> None:
        self.file_io.delete_unordered([f"{self.location}/{path}" for path, _ in files])

    def _conformed(self, data: pa.Table | pa.RecordBatch) -> pa.Table:
        rows = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
        unknown = [name for name in rows.column_names if name not in self.schema.field_names]
        if unknown:
            raise DataError(f"no column '{unknown[0]}'", f"table {self.name}", "Name columns of the table.")
        nothing = pa.chunked_array([pa.nulls(rows.num_rows)])
        columns = [
            fitting(rows[field.name] if field.name in rows.column_names else nothing, field, f"table {self.name}")
            for field in self.fields
        ]
        fitted = pa.Table.from_arrays(columns, names=[field.name for field in self.fields])
        return plain(fitted, self.fields).cast(self._arrow)

    def _write(self, rows: pa.Table) -> None:
        files = self._files
        groups = self._groups(rows)
        # Everything is a file's bytes before the first file is written: a value that cannot be stored leaves nothing.
        contents = [(spec, files.serialize(part.drop(list(self.schema.partition_keys)))) for spec, part in groups]
        for number, (spec, content) in enumerate(contents):
            folder = "/".join([self.location, *self._folders(spec)])
            self.file_io.publish(f"{folder}/data-{uuid.uuid4()}-{number}{files.suffix}", content)
        self.add_partitions([spec for spec, _ in contents if spec])

    def add_partitions(self, specs: Sequence[Mapping[str, str]]) -> None:
        """Register partitions, if the catalog keeps a list of them; otherwise their files create them."""
        if self.register is not None and specs:
            self.register.add(specs)

    def _folder_texts(self, spec: Mapping[str, str | None]) -> Spec:
        """Partition columns and the texts of their folders, for null the default name."""
        return {key: self._default_name if text is None else text for key, text in spec.items()}

    def _folders(self, spec: Spec) -> list[str]:
        if self._only_value:
            return [escape(text) for text in spec.values()]
        return [f"{escape(key)}={escape(text)}" for key, text in spec.items()]

    def _groups(self, rows: pa.Table) -> list[tuple[Spec, pa.Table]]:
        """The rows of each partition."""
        keys = self.schema.partition_keys
        if not rows.num_rows:
            return []
        if not keys:
            return [({}, rows)]
        texts = {key: self._partition_texts(rows[key], self.schema.field(key)) for key in keys}
        distinct = pa.table(texts).group_by(list(keys), use_threads=False).aggregate([])
        groups = []
        for spec in distinct.to_pylist():
            mask = pa.repeat(True, rows.num_rows)
            for key in keys:
                mask = pc.and_(mask, pc.equal(texts[key], spec[key]))
            groups.append(({key: spec[key] for key in keys}, rows.filter(mask)))
        return groups

    def _partition_texts(self, column: pa.ChunkedArray, field: DataField) -> pa.ChunkedArray:
        texts = texts_of(column, field.type)
        return pc.fill_null(pc.if_else(pc.equal(texts, ""), self._default_name, texts), self._default_name)
