"""All system tables. A new one is a module and a line here."""

from collections.abc import Mapping

from maintenance.table.system.buckets import BUCKETS, PARTITIONS
from maintenance.table.system.files import FILES
from maintenance.table.system.options import CONSUMERS, OPTIONS
from maintenance.table.system.snapshots import SNAPSHOTS
from maintenance.table.system.system_table import SystemTable
from maintenance.table.system.tags import TAGS

SYSTEM_TABLES: Mapping[str, SystemTable] = {
    table.name: table for table in (SNAPSHOTS, FILES, BUCKETS, PARTITIONS, TAGS, OPTIONS, CONSUMERS)
}
