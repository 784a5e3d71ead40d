"""Load the deletion vector of a data file. Source: data section 7."""

from maintenance.errors import ROLL_BACK, CorruptFileError
from maintenance.format.metadata.deletion_vector import DeletionVector, bytes_to_read, vector_of_range
from maintenance.fs.file_io import FileIO
from maintenance.metadata.identity import check_size
from maintenance.metadata.manifests import DeletionFile


def read_vector(file_io: FileIO, deletion: DeletionFile, row_count: int) -> DeletionVector:
    """The vector, which fits a file of that many rows.

    Raises: CorruptFileError: the index file is missing or damaged, or the vector is that of another file.
    """
    part = deletion.range
    try:
        data, size = file_io.read_part(deletion.path, max(0, part.offset), bytes_to_read(max(0, part.length)))
    except FileNotFoundError as error:
        raise CorruptFileError("an index file with deletion vectors is missing", deletion.path, ROLL_BACK) from error
    check_size(deletion.file_size, size, deletion.path)
    vector = vector_of_range(data, part, deletion.path)
    if vector.cardinality and vector.positions.max() >= row_count:
        raise CorruptFileError(
            f"a deletion vector deletes row {vector.positions.max()} of a file with {row_count} rows",
            f"{deletion.path} at byte {part.offset}, for {part.data_file_name}",
            ROLL_BACK,
        )
    return vector
