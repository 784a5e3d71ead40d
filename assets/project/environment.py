"""The tables.yaml of a process: that of PAIMON_TABLES, or else the example's."""

import os
from pathlib import Path

from maintenance.project.config import Project, load_project

# The checkout: where dagster.yaml, workspace.yaml and demo/ are.
FOLDER = Path(__file__).resolve().parents[2]


def project_of_environment() -> Project:
    """The tables to maintain."""
    return load_project(path_of_environment())


def path_of_environment() -> Path:
    """The file that PAIMON_TABLES names, or else the example's."""
    return Path(os.environ.get("PAIMON_TABLES") or FOLDER / "demo" / "tables.yaml")
