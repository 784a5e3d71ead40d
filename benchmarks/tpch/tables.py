"""The tables of TPC-H: generated as parquet, and written into Paimon tables."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq

from maintenance.catalog import Schema, open_catalog
from maintenance.types.arrow import data_type_of_arrow

PRIMARY_KEYS: Mapping[str, tuple[str, ...]] = {
    "customer": ("c_custkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
    "nation": ("n_nationkey",),
    "orders": ("o_orderkey",),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "region": ("r_regionkey",),
    "supplier": ("s_suppkey",),
}
"""The tables, and the columns that tell their rows apart."""


def generated(folder: Path, scale: float) -> Path:
    """A folder with ``<table>.parquet`` for each table, made if it is not there. The rows depend on the scale alone."""
    if not folder.exists():
        part = folder.with_name(folder.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        generator = Path(sys.executable).with_name("tpchgen-cli")
        command = [str(generator), "parquet", "-s", str(scale), "--output-dir", str(part)]
        subprocess.run(command, check=True, capture_output=True)
        part.rename(folder)
    return folder


def fill(warehouse: Path, parquet: Path, *, keyed: bool) -> None:
    """Write the tables into the database `default` of a warehouse. `keyed`: with primary keys, in four buckets."""
    catalog = open_catalog({"warehouse": str(warehouse)})
    catalog.create_database("default", ignore_if_exists=True)
    for table, keys in PRIMARY_KEYS.items():
        rows = pq.read_table(parquet / f"{table}.parquet")
        fields = [(field.name, str(data_type_of_arrow(field.type, nullable=False))) for field in rows.schema]
        options = {"bucket": "4" if rows.num_rows > 1000 else "1"} if keyed else {}
        schema = Schema(fields, primary_keys=list(keys) if keyed else [], options=options)
        catalog.create_table(f"default.{table}", schema)
        catalog.get_table(f"default.{table}").write_arrow(rows)
