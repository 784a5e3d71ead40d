"""VARIANT among the rows that DuckDB gives."""

import pyarrow as pa

from maintenance.format.variant.extension import VariantType
from maintenance.format.variant.stored import plain_variants
from maintenance.types.arrow import VARIANT

PREFIX = "paimon_variant_"
"""How the names of our functions over variants begin in DuckDB."""


def with_variants(rows: pa.Table) -> pa.Table:
    """The result of a query over variants: its columns that have their form are such."""
    for number, field in enumerate(rows.schema):
        if pa.types.is_struct(field.type) and [part.name for part in field.type] == VARIANT.names:
            chunks = [
                pa.ExtensionArray.from_storage(VariantType(), plain_variants(c)) for c in rows.column(number).chunks
            ]
            rows = rows.set_column(number, field.with_type(VariantType()), pa.chunked_array(chunks, VariantType()))
    return rows
