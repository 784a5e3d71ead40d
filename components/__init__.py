"""This project as a Dagster component: what `dg` lists and scaffolds."""

from components.paimon_tables import PaimonTables

__all__ = ["PaimonTables"]
