"""The formats of data files. A new one is a module with a `DataFormat` and a line here."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from maintenance.errors import UnsupportedError
from maintenance.format.avro.data_format import AVRO
from maintenance.format.blob import BLOB
from maintenance.format.data_format import DataFormat, DataReader
from maintenance.format.native.lance_file import LANCE
from maintenance.format.native.mosaic_file import MOSAIC
from maintenance.format.native.vortex_file import VORTEX
from maintenance.format.orc.reader import ORC
from maintenance.format.parquet.reader import PARQUET
from maintenance.format.row_file.data_format import ROW
from maintenance.types.data_type import DataField

DATA_FORMATS: Mapping[str, DataFormat] = {form.name: form for form in (PARQUET, ORC, AVRO, ROW, VORTEX, LANCE, MOSAIC)}


def data_format(name: str, where: str) -> DataFormat:
    """The format of that name. Raises: UnsupportedError."""
    if name not in DATA_FORMATS:
        raise UnsupportedError(
            f"data files of format '{name}' are not supported", where, f"There are: {', '.join(DATA_FORMATS)}."
        )
    return DATA_FORMATS[name]


def open_data_file(
    source: pa.NativeFile, path: str, options: Mapping[str, str], columns: Sequence[DataField] = ()
) -> DataReader:
    """The reader for a file, by its extension.

    Args: `options`: of its table; `columns`: all of the file, in its order, which files of format `row` do not say.
    Raises: UnsupportedError, CorruptFileError.
    """
    name = path.rsplit(".", 1)[-1]
    form = BLOB if name == BLOB.name else data_format(name, path)
    return form.open_reader(source, path, options, columns)
