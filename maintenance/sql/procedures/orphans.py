"""Removal of orphan files, and the bin."""

from maintenance.errors import SqlError, worst_of
from maintenance.fs.file_io import FileIO
from maintenance.metastore.warehouse import known_folder
from maintenance.operations.bin.restore import OPERATION as RESTORE
from maintenance.operations.databases.migrated_origin import is_of_origin, restore_origin
from maintenance.operations.databases.remove_orphan_files_of import is_of_many, remove_orphan_files_of
from maintenance.operations.orphans.remove_orphan_files import OPERATION as ORPHANS
from maintenance.operations.orphans.remove_orphan_files import counted
from maintenance.operations.plan_store import StoredPlan
from maintenance.sql.names import path_of
from maintenance.sql.procedures.procedure import Call, Procedure
from maintenance.sql.result import Result


class _Orphans(Procedure):
    """Of one table, or of all tables of a database or catalog."""

    def run(self, call: Call) -> Result:
        if not is_of_many(call.get("table")):
            return super().run(call)
        if call.get("into_bin"):
            raise SqlError(
                "the bin takes one table at a time", "sys.remove_orphan_files", "Name one, or leave into_bin out."
            )
        arguments = call.passed("older_than", "minimum_age", "parallelism", "max_deletes", "time_limit", "dry_run")
        spark = None if call.get("mode") == "local" else call.session.spark
        report = remove_orphan_files_of(
            spark, call.session.current(), call.get("table"), progress=call.progress, **arguments
        )
        if report.errors:
            raise worst_of(report.errors.values())
        shown = counted(report.reports.values())
        return Result(shown.rows, shown.nothing_to_do)

    def make(self, call: Call) -> StoredPlan | None:
        """None for many tables: a plan is of one."""
        return None if is_of_many(call.get("table")) else super().make(call)


class _Restore(Procedure):
    """Of what a deletion took, or of the source of a migration, which comes back as a whole."""

    def run(self, call: Call) -> Result:
        catalog, run = call.session.current(), call.get("run")
        if not self._is_whole(call):
            return super().run(call)
        if call.passed("files", "snapshots", "tags"):
            raise SqlError("the source of a migration comes back as a whole", "sys.restore", "Name the run alone.")
        name = call.session.table_name(path_of(call.get("table"))).identifier
        file_io = FileIO.of(catalog.options)
        shown = RESTORE.shown(restore_origin(catalog, file_io, run, name, **call.passed("dry_run")))
        return Result(shown.rows, shown.nothing_to_do)

    def make(self, call: Call) -> StoredPlan | None:
        return None if self._is_whole(call) else super().make(call)

    @staticmethod
    def _is_whole(call: Call) -> bool:
        catalog = call.session.current()
        return is_of_origin(FileIO.of(catalog.options), known_folder(catalog), call.get("run"))


_OF_MORE = ((_Orphans, ORPHANS), (_Restore, RESTORE))
PROCEDURES_OF_MORE = {operation.name: made(operation, *operation.spelt()) for made, operation in _OF_MORE}
