"""All system tables. A new one is a module and a line here."""

from collections.abc import Mapping

from maintenance.table.system.branches import BRANCHES
from maintenance.table.system.buckets import BUCKETS, PARTITIONS
from maintenance.table.system.file_indexes import FILE_INDEXES
from maintenance.table.system.files import FILE_KEY_RANGES, FILES
from maintenance.table.system.manifests import MANIFESTS, TABLE_INDEXES
from maintenance.table.system.options import CONSUMERS, OPTIONS
from maintenance.table.system.schemas import AGGREGATION_FIELDS, SCHEMAS
from maintenance.table.system.snapshots import SNAPSHOTS
from maintenance.table.system.statistics import STATISTICS
from maintenance.table.system.system_table import SystemTable
from maintenance.table.system.tags import TAGS

SYSTEM_TABLES: Mapping[str, SystemTable] = {
    table.name: table
    for table in (
        SNAPSHOTS, SCHEMAS, OPTIONS, FILES, FILE_KEY_RANGES, MANIFESTS, TABLE_INDEXES, BUCKETS, PARTITIONS, TAGS,
        BRANCHES, CONSUMERS, AGGREGATION_FIELDS, STATISTICS, FILE_INDEXES,
    )
}  # fmt: skip
