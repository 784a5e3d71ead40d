"""Read the table `db.t` of warehouses with pypaimon into Arrow files: ``python read_tables.py WAREHOUSE...``.

The file is `WAREHOUSE/rows.arrow`. ``--columns=a,b`` in front reads these columns alone, ``--where=a=1`` behind it the
rows in which a column has that number.

Runs in an environment of its own, `.venv-pypaimon`, so it knows nothing of the project.
"""

import sys

import pyarrow as pa
from pypaimon import CatalogFactory


def main(warehouses: list[str]) -> None:
    columns = None
    if warehouses[0].startswith("--columns="):
        columns = warehouses.pop(0).removeprefix("--columns=").split(",")
    where = warehouses.pop(0).removeprefix("--where=").split("=") if warehouses[0].startswith("--where=") else None
    for warehouse in warehouses:
        table = CatalogFactory.create({"warehouse": warehouse}).get_table("db.t")
        builder = table.new_read_builder()
        if columns is not None:
            builder = builder.with_projection(columns)
        elif table.options.options.to_map().get("row-tracking.enabled") == "true":
            names = [field.name for field in table.fields]
            builder = builder.with_projection([*names, "_ROW_ID", "_SEQUENCE_NUMBER"])
        if where is not None:
            whole = table.new_read_builder().with_projection([*(columns or ()), "_ROW_ID"])
            builder.with_filter(whole.new_predicate_builder().equal(where[0], int(where[1])))
        rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
        with pa.OSFile(f"{warehouse}/rows.arrow", "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
