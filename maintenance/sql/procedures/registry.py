"""All procedures by name. A new one is a line in its family's module."""

from collections.abc import Mapping

from maintenance.sql.procedures import files, refs
from maintenance.sql.procedures.procedure import Procedure

PROCEDURES: Mapping[str, Procedure] = {procedure.name: procedure for procedure in (*refs.PROCEDURES, *files.PROCEDURES)}
