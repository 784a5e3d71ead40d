"""A streaming writer of the table `db.t`: ``python write_stream.py WAREHOUSE``.

Tells its commit user, then commits the rows of each line of its input (JSON: ``[[id, v], ...]``) and answers with a
line. It lives as long as its input, as a job of pypaimon does.

Runs in an environment of its own, `.venv-pypaimon`, so it knows nothing of the project.
"""

import json
import sys

import pyarrow as pa
from pypaimon import CatalogFactory

ROWS = pa.schema([pa.field("id", pa.int32(), nullable=False), pa.field("v", pa.string())])


def main(warehouse: str) -> None:
    builder = CatalogFactory.create({"warehouse": warehouse}).get_table("db.t").new_stream_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    print(builder.commit_user, flush=True)
    for number, line in enumerate(sys.stdin, 1):
        rows = json.loads(line)
        write.write_arrow(pa.table([[row[0] for row in rows], [row[1] for row in rows]], schema=ROWS))
        commit.commit(write.prepare_commit(number), number)
        print(number, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
