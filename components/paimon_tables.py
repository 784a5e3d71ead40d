"""tables.yaml as a Dagster component: the same entries, as the attributes of a `defs.yaml`.

The models of `assets/project/config.py` read them, and an error names its place: Dagster fills in templates first, and
what is written is read only then. Editors know the schema. One component serves one warehouse. A code location has one
of them, since resources and sensors go by their names.
"""

from functools import cache
from pathlib import Path
from typing import Any, Self, cast

import dagster as dg
from pydantic import BaseModel, Field, GetJsonSchemaHandler, PrivateAttr, ValidationError
from pydantic_core import CoreSchema

from maintenance.project.config import Project, rooted
from maintenance.project.policies import ZoneName
from maintenance.project.yaml_file import attribute_mistake
from paimon_maintenance.definitions import build_definitions


class TablesParams(BaseModel):
    """What scaffolding asks for."""

    warehouse: str = Field(default="warehouse", description="Path or URI of the warehouse.")
    pattern: str = Field(default="*.*", description="Which of its tables to maintain.")
    time_zone: ZoneName = Field(default="UTC", description="Where the hours of the schedules are, an IANA name.")


# Below what is scaffolded: what people ask for next.
_MORE = """
  # More settings of a pattern, all of them optional; docs/dagster.md explains them.
  #   - pattern: sales.*
  #     compaction: { trigger: 8 }
  #     retention: { keep_at_least: 10, time_retained: 2 d, full_days: true }
  #     tag: { cron: 0 0 * * *, name: "{date}", time_retained: 90 d }
  #     checks: { max_age: 2 h }
  # Who is notified of faults; ${NAME} is read from the environment.
  # alerts:
  #   url: https://dagster.example
  #   targets: [{ kind: webhook, url: "${ALERTS_URL}" }]
"""


class TablesScaffolder(dg.Scaffolder[TablesParams]):
    """Writes a `defs.yaml` that maintains every table of a warehouse."""

    @classmethod
    def get_scaffold_params(cls) -> type[TablesParams]:
        return TablesParams

    def scaffold(self, request: dg.ScaffoldRequest[TablesParams]) -> None:
        given = request.params if isinstance(request.params, TablesParams) else TablesParams()
        attributes = {
            "warehouse": given.warehouse,
            "expiry": {"cron": "0 3 * * *", "time_zone": given.time_zone},
            "empty_bin": {"cron": "0 5 * * *", "time_zone": given.time_zone},
            "fleet": {"cron": "0 6 * * *", "time_zone": given.time_zone},
            "patterns": [{"pattern": given.pattern}],
        }
        dg.scaffold_component(request, attributes)
        with (Path(request.target_path) / "defs.yaml").open("a", encoding="utf-8") as file:
            file.write(_MORE)


@dg.scaffold_with(TablesScaffolder)
class PaimonTables(Project, dg.Component, dg.Resolvable):
    """Maintains and watches Paimon tables: assets, checks, jobs, a schedule and sensors for each."""

    _mistake: ValidationError | None = PrivateAttr(default=None)

    @classmethod
    def model(cls) -> type[BaseModel]:
        """How the attributes of a `defs.yaml` are written. Called by Dagster."""
        return _written(cls)

    @classmethod
    def resolve_from_model(cls, context: dg.ResolutionContext, model: BaseModel) -> Self:
        """The component; with a mistake in its attributes one that tells it once definitions are asked for.

        Called by Dagster, for lists of components as well, which need no more than its name.
        """
        try:
            return cls.model_validate(context.resolve_value(dict(model.model_extra or {})))
        except ValidationError as error:
            mistaken = cls.model_construct(warehouse="")
            mistaken._mistake = error
            return cast("Self", mistaken)

    def project(self, folder: Path) -> Project:
        """The same as the project of a tables.yaml in that folder. Raises: OptionError, with the line of defs.yaml."""
        if self._mistake is not None:
            raise attribute_mistake(folder / "defs.yaml", self._mistake) from self._mistake
        return rooted(self, folder)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        return build_definitions(self.project(Path(context.path)))


class _Written(BaseModel, extra="allow"):
    """Attributes as they are written."""


@cache
def _written(project: type[Project]) -> type[BaseModel]:
    def described(_: CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        return handler.resolve_ref_schema(handler(project.__pydantic_core_schema__))

    members = {"__get_pydantic_json_schema__": staticmethod(described)}
    return type(f"{project.__name__}Written", (_Written,), members)
