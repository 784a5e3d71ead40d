"""A step of a table's chain as a task, as tables.yaml says it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paimon_maintenance.operators.airflow_release import AirflowSkipException, BaseOperator, BaseOperatorLink
from paimon_maintenance.operators.failures import as_airflow_failure
from paimon_maintenance.operators.history import kept_in_history
from paimon_maintenance.operators.lake import Lake
from paimon_maintenance.operators.links import TableLink
from paimon_maintenance.operators.operation import run_name, told

_OF_STATEMENTS = "refresh_materialized_table"


class TableStepOperator(BaseOperator):
    """Does one operation on a table with what tables.yaml says of it; skipped where there is nothing to do.

    The file is read when the task runs, so what changes in it holds at once.

    Args:
        tables: the path of the tables.yaml.
        table: database.table.
        operation: of the chain, such as ``compact``.
        engine: what does the work; None: as the file says, else this process.
    """

    template_fields: Sequence[str] = ("table",)
    operator_extra_links: Sequence[BaseOperatorLink] = (TableLink(),)
    ui_color = "#dbeafe"

    def __init__(self, *, tables: str, table: str, operation: str, engine: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tables = tables
        self.table = table
        self.operation = operation
        self.engine = engine

    @property
    def arguments(self) -> Mapping[str, Any]:
        """As of `PaimonOperator`: for links."""
        return {"table": self.table}

    def execute(self, context: Any) -> dict[str, Any]:
        """Called by Airflow. Returns: as of `PaimonOperator`."""
        with as_airflow_failure(self.operation):
            return self._work(context)

    def _work(self, context: Any) -> dict[str, Any]:
        from maintenance.operations.bin.run import BinRun
        from maintenance.operations.operation import Run, operation
        from maintenance.project.chain import asked, options_of
        from maintenance.sql.session_names import SessionNames
        from paimon_maintenance.operators.described import described_table, engine_of, known_root, opened, project_of

        project = project_of(self.tables)
        session = Lake(tables=self.tables, engine=self.engine or engine_of(project)).session(run_name(context))
        catalog, record = session.current(), operation(self.operation)
        described = described_table(project, self.table, catalog)
        table = opened(catalog, described, record.name).of_run(run_name(context))
        fields = asked(record.name, described, table)
        if isinstance(fields, str):
            raise AirflowSkipException(f"{self.operation} of {self.table} has nothing to do: {fields}")
        root = known_root(catalog)
        into = BinRun.begin(table, root(), record.name) if record.takes_bin and described.bin is not None else None
        run = Run(session.spark if record.uses_spark else None, self.log.info, into, warehouse=root)
        if record.name == _OF_STATEMENTS:
            run = replace(run, names=SessionNames(session.in_dialect("flink")))
        options = options_of(record.name, described, table)
        at = table.copy(options) if options else table
        with kept_in_history(catalog, project.history, at, record.key, run_name(context)) as note:
            report = record.run(run, at, record.request(**fields))
            shown = record.shown(report)
            if not shown.nothing_to_do:
                note(report)
        if shown.nothing_to_do:
            raise AirflowSkipException(f"{self.operation} of {self.table} has nothing to do")
        return told(self.operation, self.table, shown.rows, nothing_to_do=False)
