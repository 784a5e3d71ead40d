"""What the next run of the job that empties the bin takes: as the policies of the tables say."""

from collections.abc import Iterable
from datetime import datetime

from maintenance.operations.bin.bytes_in_bin import BytesInBin, due_by_name
from maintenance.operations.bin.empty_bin import WINDOW, EmptyBin
from maintenance.options.option import duration
from maintenance.project.config import TableConfig
from paimon_maintenance.assets.resources.catalog import PaimonCatalog


def emptying_of(tables: Iterable[TableConfig]) -> EmptyBin:
    """What is asked of the bin: it keeps runs for as long as the most patient table says."""
    policies = [table.bin for table in tables if table.bin is not None]
    window = max((duration(policy.window) for policy in policies), default=WINDOW)
    limits = [policy.max_bytes for policy in policies if policy.max_bytes is not None]
    return EmptyBin(window, max(limits, default=None))


def due_in_bin(catalog: PaimonCatalog, tables: Iterable[TableConfig], now: datetime) -> dict[str, BytesInBin] | None:
    """What the next emptying of the bin frees, by the name of the table. None: it has too many runs to look through."""
    if not catalog.has_root():
        return {}
    return due_by_name(catalog.file_io(), catalog.root(), emptying_of(tables), now)
