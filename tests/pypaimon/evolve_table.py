"""Change the table `db.t` of a warehouse with pypaimon: ``python evolve_table.py WAREHOUSE``.

Appends a row, and gives the rows 0 and 2 new values of column `v` by their row ids.
Runs in an environment of its own, `.venv-pypaimon`, so it knows nothing of the project.
"""

import sys

import pyarrow as pa
from pypaimon import CatalogFactory


def main(warehouse: str) -> None:
    table = CatalogFactory.create({"warehouse": warehouse}).get_table("db.t")
    builder = table.new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(pa.table({"id": pa.array([77], pa.int32()), "v": ["theirs"]}))
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()
    builder = table.new_batch_write_builder()
    update = builder.new_update().with_update_type(["v"])
    new = pa.table({"_ROW_ID": pa.array([0, 2], pa.int64()), "v": ["by pypaimon", "by pypaimon, too"]})
    commit = builder.new_commit()
    commit.commit(update.update_by_arrow_with_row_id(new))
    commit.close()


if __name__ == "__main__":
    main(sys.argv[1])
