"""All procedures by name: those of the operations, and those of SQL alone."""

from collections.abc import Mapping

from maintenance.operations.operation import all_operations
from maintenance.sql.procedures import orphans
from maintenance.sql.procedures.procedure import Procedure, procedures_of

PROCEDURES: Mapping[str, Procedure] = {
    **{each.name: each for operation in all_operations().values() for each in procedures_of(operation)},
    **{each.name: each for each in orphans.PROCEDURES},
}
