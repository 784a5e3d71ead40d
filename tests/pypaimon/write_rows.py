"""Write rows to the table `db.t` of warehouses with pypaimon: ``python write_rows.py WAREHOUSE...``.

Appends those of `WAREHOUSE/new.arrow`, and gives rows the values of `WAREHOUSE/changed.arrow`, by its `_ROW_ID`, where
these files are.
Runs in an environment of its own, `.venv-pypaimon`, so it knows nothing of the project.
"""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory
from pypaimon.schema.data_types import PyarrowFieldParser


def main(warehouses: list[str]) -> None:
    for warehouse in warehouses:
        table = CatalogFactory.create({"warehouse": warehouse}).get_table("db.t")
        new, changed = (Path(warehouse) / f"{name}.arrow" for name in ("new", "changed"))
        if new.exists():
            append(table, rows_of(new))
        if changed.exists():
            change(table, rows_of(changed))


def rows_of(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def append(table: Any, rows: pa.Table) -> None:
    builder = table.new_batch_write_builder()
    writer, commit = builder.new_write(), builder.new_commit()
    own = PyarrowFieldParser.from_paimon_schema(table.fields)
    own_rows = rows.cast(pa.schema([own.field(name) for name in rows.column_names]))
    # Copied into aligned memory, which the libraries of some formats need.
    writer.write_arrow(own_rows.take(pa.array(range(rows.num_rows))))
    commit.commit(writer.prepare_commit())
    writer.close()
    commit.close()


def change(table: Any, rows: pa.Table) -> None:
    builder = table.new_batch_write_builder()
    update = builder.new_update().with_update_type([name for name in rows.column_names if name != "_ROW_ID"])
    commit = builder.new_commit()
    commit.commit(update.update_by_arrow_with_row_id(rows))
    commit.close()


if __name__ == "__main__":
    main(sys.argv[1:])
