"""Index columns of the table `db.t` of a warehouse with pypaimon, and read it by filters.

``python index_table.py WAREHOUSE create COLUMN TYPE`` builds a global index.
``python index_table.py WAREHOUSE read JSON`` prints, for each [column, method of the predicate builder, arguments…] of
a JSON list, the values of `id` found, and whether an index was used.

Runs in an environment of its own, `.venv-pypaimon`, so it knows nothing of the project.
"""

import json
import sys
from typing import Any

from pypaimon import CatalogFactory
from pypaimon.globalindex.indexed_split import IndexedSplit


def found(table: Any, column: str, method: str, *values: Any) -> list[Any]:
    builder = table.new_read_builder()
    predicates = builder.new_predicate_builder()
    builder = builder.with_filter(getattr(predicates, method)(column, *values))
    splits = builder.new_scan().plan().splits()
    rows = builder.new_read().to_arrow(splits)
    return [sorted(rows.column("id").to_pylist()), any(isinstance(split, IndexedSplit) for split in splits)]


def main(warehouse: str, action: str, *arguments: str) -> None:
    table = CatalogFactory.create({"warehouse": warehouse}).get_table("db.t")
    if action == "create":
        column, index_type = arguments
        table.create_global_index(column, index_type=index_type)
    else:
        print(json.dumps([found(table, *each) for each in json.loads(arguments[0])]))


if __name__ == "__main__":
    main(*sys.argv[1:])
