"""This project as a Dagster component: what `dg` lists and scaffolds."""

from paimon_maintenance.components.paimon_tables import PaimonTables

__all__ = ["PaimonTables"]
