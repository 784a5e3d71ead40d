"""All procedures by name. A new one is a line in its family's module."""

from collections.abc import Mapping

from maintenance.sql.procedures import (
    chains,
    clones,
    columns,
    files,
    indexes,
    merges,
    migrations,
    orphans,
    refs,
    repairs,
    retention,
    views,
)
from maintenance.sql.procedures.procedure import Procedure

_FAMILIES = (refs, files, chains, columns, indexes, clones, merges, migrations, orphans, repairs, retention, views)
PROCEDURES: Mapping[str, Procedure] = {each.name: each for family in _FAMILIES for each in family.PROCEDURES}
