"""tables.yaml as a Dagster component: the same entries, as the attributes of a `defs.yaml`.

The models of assets/config.py read them, and a mistake is told with its place. One component serves one warehouse; a
code location has one of them, since resources and sensors go by their names.
"""

from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import BaseModel, Field, ValidationError

from assets.config import Project, rooted
from definitions import build_definitions
from maintenance.errors import OptionError
from maintenance.operations.history import HISTORY_TABLE


class TablesParams(BaseModel):
    """What scaffolding asks for."""

    warehouse: str = Field(default="warehouse", description="Path or URI of the warehouse.")
    pattern: str = Field(default="*.*", description="Which of its tables to maintain.")


class TablesScaffolder(dg.Scaffolder[TablesParams]):
    """Writes a `defs.yaml` that maintains every table of a warehouse."""

    @classmethod
    def get_scaffold_params(cls) -> type[TablesParams]:
        return TablesParams

    def scaffold(self, request: dg.ScaffoldRequest[TablesParams]) -> None:
        given = request.params if isinstance(request.params, TablesParams) else TablesParams()
        attributes = {
            "warehouse": given.warehouse,
            "expiry": {"cron": "0 3 * * *", "time_zone": "UTC"},
            "patterns": [{"pattern": given.pattern}],
        }
        dg.scaffold_component(request, attributes)


@dg.scaffold_with(TablesScaffolder)
class PaimonTables(dg.Component, dg.Model, dg.Resolvable):
    """Maintains and watches Paimon tables: assets, checks, jobs, a schedule and sensors for each."""

    warehouse: str = Field(description="Path, relative to this component's folder, or URI.")
    catalog: dict[str, str] = Field(default_factory=dict, description="More of Paimon's catalog options.")
    spark: dict[str, Any] = Field(default_factory=dict, description="Where the steps do their work.")
    expiry: dict[str, Any] = Field(default_factory=dict, description="When the daily expiry runs.")
    alerts: dict[str, Any] = Field(default_factory=dict, description="Who is told of faults.")
    history: str | None = Field(default=HISTORY_TABLE, description="Table in each database for what was done.")
    patterns: list[dict[str, Any]] = Field(default_factory=list, description="Settings for tables that match.")
    tables: list[dict[str, Any]] = Field(default_factory=list, description="Tables with settings of their own.")

    def project(self, folder: Path) -> Project:
        """The same as the project of a tables.yaml in that folder. Raises: OptionError, with the place."""
        try:
            project = Project.model_validate({name: getattr(self, name) for name in type(self).model_fields})
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise OptionError(f"{place}: {first['msg']}", f"{folder}/defs.yaml", "Correct this attribute.") from error
        return rooted(project, folder)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        return build_definitions(self.project(Path(context.path)))
