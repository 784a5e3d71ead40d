"""Add rows with blobs to the table `db.t` of a warehouse with pypaimon: ``python write_blobs.py WAREHOUSE``.

Runs in an environment of its own, `.venv-pypaimon`, so it knows nothing of the project.
"""

import sys

import pyarrow as pa
from pypaimon import CatalogFactory


def main(warehouse: str) -> None:
    table = CatalogFactory.create({"warehouse": warehouse}).get_table("db.t")
    builder = table.new_batch_write_builder()
    writer, commit = builder.new_write(), builder.new_commit()
    blobs = pa.array([b"theirs", None, b"t" * 300], pa.large_binary())
    writer.write_arrow(pa.table({"id": pa.array([7, 8, 9], pa.int32()), "b": blobs, "v": ["x", "y", "z"]}))
    commit.commit(writer.prepare_commit())
    writer.close()
    commit.close()


if __name__ == "__main__":
    main(sys.argv[1])
