"""A write in threads makes the files that one thread makes, and leaves none when it fails."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import DataError
from maintenance.write.bucket_writer import BucketWriter
from maintenance.write.message import CommitMessage
from maintenance.write.rows import conform
from maintenance.write.state import WriteState
from maintenance.write.table_write import TableWrite
from tests.tables import create_table, files_on_disk

FIELDS = [("id", "INT NOT NULL"), ("p", "STRING NOT NULL"), ("v", "STRING"), ("n", "DOUBLE")]
# Small, for several row groups in a file, and several files.
SIZES = {"parquet.block.size": "300000", "target-file-size": "400 kb"}
ROWS = 80_000


def rows() -> pa.Table:
    numbers = np.random.default_rng(5).permutation(ROWS)
    texts = [f"v{number * 7919 % 1_000_003}" for number in numbers.tolist()]
    return pa.table(
        {
            "id": numbers.astype(np.int32),
            "p": np.array(["a", "b"])[numbers % 2],
            "v": texts,
            "n": numbers / 7,
        }
    )


def written(table: CatalogTable, threads: int) -> list[list[tuple[bytes, object]]]:
    """For each message the bytes of its files, and what it says of them, but for the names."""
    context = replace(table.write_context(), threads=threads, clock=lambda: 0)
    writer = TableWrite(context, WriteState())
    writer.write(conform(rows(), None, context))
    return [
        [
            (
                Path(table.paths.data_file(message.partition, message.bucket, file)).read_bytes(),
                replace(file, file_name=file.file_name.rpartition("-")[2]),
            )
            for file in message.new_files
        ]
        for message in sorted(writer.finish(), key=lambda message: (message.partition, message.bucket))
    ]


@pytest.mark.parametrize(
    ("keys", "partitions", "buckets"),
    [([], [], "-1"), ([], ["p"], "-1"), (["id"], [], "4"), (["id", "p"], ["p"], "2")],
)
def test_files_and_what_is_said_of_them_do_not_depend_on_threads(
    tmp_path: Path, keys: list[str], partitions: list[str], buckets: str
) -> None:
    options = {**SIZES, "bucket": buckets}
    table = create_table(tmp_path, FIELDS, keys, options, partition_keys=partitions)
    one = written(table, 1)
    assert one == written(table, 3)
    assert len(one) > 1 or len(one[0]) > 1


def test_a_failing_bucket_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create_table(tmp_path, FIELDS, ["id"], {"bucket": "4"})
    context = replace(table.write_context(), threads=2)
    writer = TableWrite(context, WriteState())
    writer.write(conform(rows(), None, context))
    finish = BucketWriter.finish

    def fails_in_one(self: BucketWriter) -> CommitMessage:
        if self._bucket == 1:
            raise DataError("no", "bucket 1", "none")
        return finish(self)

    monkeypatch.setattr(BucketWriter, "finish", fails_in_one)
    with pytest.raises(DataError):
        writer.finish()
    assert files_on_disk(table) == set()
