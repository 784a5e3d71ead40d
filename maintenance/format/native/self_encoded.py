"""Formats of libraries that choose by themselves how to encode each column, and so take no options."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from maintenance.errors import UnsupportedError
from maintenance.format.data_format import DataFormat, DataWriter, FileSettings, OpenWriter, format_options
from maintenance.format.native.library import library
from maintenance.format.native.reader import NativeFile, NativeReader
from maintenance.format.native.stored import check_types
from maintenance.types.data_type import DataField

_LACKING = ("VARIANT", "BLOB", "MULTISET", "MAP")


def self_encoded(
    name: str,
    open_file: Callable[[pa.NativeFile, str], NativeFile],
    open_writer: Callable[[pa.NativeFile, Sequence[DataField]], DataWriter],
) -> DataFormat:
    """The format of that name. `open_file`: of a file and its path; `open_writer`: of a file and its columns."""

    def prepare_writer(fields: Sequence[DataField], settings: FileSettings) -> OpenWriter:
        library(name, "options")
        format_options(settings, ())
        _check_encoding(settings)
        check_types(fields, name, lambda data_type: data_type.root in _LACKING)
        return lambda sink: open_writer(sink, fields)

    def open_reader(
        source: pa.NativeFile, path: str, options: Mapping[str, str], columns: Sequence[DataField] = ()
    ) -> NativeReader:
        return NativeReader(open_file(source, path), path)

    return DataFormat(name, open_reader, prepare_writer)


def _check_encoding(settings: FileSettings) -> None:
    """Refuse a codec. Raises: UnsupportedError."""
    if settings.compression != "zstd":  # the default of all formats
        raise UnsupportedError(
            f"compression '{settings.compression}' of {settings.format} files",
            "options",
            "Unset it: this format chooses its own encodings.",
        )
