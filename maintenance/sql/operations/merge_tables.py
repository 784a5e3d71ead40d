"""MERGE INTO as a call, for Flink's SQL, which has no such statement.

Source: Java `MergeIntoAction`, `DataEvolutionMergeIntoAction`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from maintenance.catalog import Catalog
from maintenance.errors import OptionError, SqlError
from maintenance.operations.operation import Keeping, LazyPlan, Operation, Run, Spelling, lazily
from maintenance.operations.parameters import Param, number
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.rows.change_writer import ChangePreview, ChangeWriter
from maintenance.operations.rows.matching_rows import shown
from maintenance.operations.rows.row_changes import RowChangeReport
from maintenance.sql.apply_statement import apply_statement
from maintenance.sql.cursor import Cursor, Source, statements_of
from maintenance.sql.names import path_of
from maintenance.sql.place import in_sql
from maintenance.sql.planned_rows import CHANGE_ROWS
from maintenance.sql.query.run import run_query
from maintenance.sql.session import Session
from maintenance.sql.session_names import SessionNames, names_of
from maintenance.sql.session_state import SessionState
from maintenance.sql.statements.grammar import parse
from maintenance.sql.statements.row_changes import Merge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALL = "*"
_WHERE = "sys.merge_into"
_CONDITIONS = (
    "merge_condition",
    "matched_upsert_condition",
    "not_matched_insert_condition",
    "matched_delete_condition",
    "not_matched_by_source_upsert_condition",
    "not_matched_by_source_delete_condition",
)


@dataclass(frozen=True, slots=True)
class MergeTables:
    """Which tables, and what becomes of rows that match, and of those that do not."""

    target_table: Annotated[str, Param("The table, as database.table.")]
    target_alias: Annotated[str | None, Param("The alias of the target in conditions and values; empty: its name.")] = (
        None
    )
    source_sqls: Annotated[str | None, Param("Statements to run first, such as CREATE TEMPORARY VIEW.")] = None
    source_table: Annotated[str | None, Param("A table or view, as database.table.")] = None
    merge_condition: Annotated[str | None, Param("Which rows match, such as T.id = S.id.")] = None
    matched_upsert_condition: Annotated[str | None, Param("Which rows that match are changed; empty: all.")] = None
    matched_upsert_setting: Annotated[
        str | None, Param("Their new values, as a = S.b, c = 1; *: all columns of the source.")
    ] = None
    not_matched_insert_condition: Annotated[
        str | None, Param("Which rows of the source without a match are inserted; empty: all.")
    ] = None
    not_matched_insert_values: Annotated[
        str | None, Param("Their values, as S.a, 1; *: all columns of the source.")
    ] = None
    matched_delete_condition: Annotated[str | None, Param("Which rows that match are deleted.")] = None
    not_matched_by_source_upsert_condition: Annotated[
        str | None, Param("Which rows without a match in the source are changed; empty: all.")
    ] = None
    not_matched_by_source_upsert_setting: Annotated[str | None, Param("Their new values, as a = 1, b = 2.")] = None
    not_matched_by_source_delete_condition: Annotated[
        str | None, Param("Which rows without a match in the source are deleted.")
    ] = None


def _work(run: Run, _: Catalog, asked: MergeTables, /, *, dry_run: bool) -> RowChangeReport:
    """Raises: SqlError: an argument is missing, or none of what it says."""
    if dry_run:
        _check_dry(asked)
    session, statement = _statement(run, asked)
    session = session.writing
    try:
        with in_sql():
            cursor = statements_of(Source(statement, session.sql_dialect))[0]
            merge = parse(cursor)
            assert isinstance(merge, Merge)
            table = merge.target(session)
            return merge.carry_out(session, table, ChangePreview(table) if dry_run else ChangeWriter())
    except SqlError as error:
        # The place is one of a text that nobody has written.
        raise SqlError(error.found, _WHERE, error.fix, None, None, error.error_class) from error


def _make(run: Run, _: Catalog, planned: LazyPlan[MergeTables, RowChangeReport]) -> StoredPlan:
    _check_dry(planned.request)
    session, statement = _statement(run, planned.request)
    return session.plan(statement)


def _carry_out(run: Run, _: Catalog, kept: StoredPlan) -> RowChangeReport:
    return apply_statement(names_of(run).session, kept)


def _check_dry(asked: MergeTables) -> None:
    """Raises: OptionError: what comes before the merge cannot be looked at, but only be done."""
    if asked.source_sqls:
        problem = "'source_sqls' are run before the merge, and a dry run runs nothing"
        raise OptionError(problem, _WHERE, "Make the view first, and name it as source_table.")


def _statement(run: Run, asked: MergeTables) -> tuple[Session, str]:
    """The statement, and the session in which those of the call have made their views."""
    caller = names_of(run).session
    session = caller.in_dialect("flink")
    assert isinstance(session, Session)
    session.current_catalog, session.current_database = caller.current_catalog, caller.current_database
    session.views, session.settings = dict(caller.views), dict(caller.settings)
    for _ in session.execute(asked.source_sqls or ""):
        pass
    for name in ("source_table", "merge_condition"):
        if not getattr(asked, name):
            raise SqlError(f"argument '{name}' is missing", _WHERE, f"Give {name} => '…' in the call.")
    for name in _CONDITIONS:
        if getattr(asked, name):
            _check_condition(getattr(asked, name), name, caller)
    clauses = list(_clauses(asked, session))
    if not clauses:
        raise SqlError("no change is given", _WHERE, "Set what becomes of rows that match, or that do not.")
    target, source = path_of(asked.target_table), path_of(asked.source_table or "")
    alias = asked.target_alias or target[-1]
    into = f"MERGE INTO {_quoted(target)} AS {_quoted((alias,))}"
    using = f"USING {_quoted(source)} AS {_quoted((source[-1],))}"
    return session, "\n".join([into, using, f"ON {asked.merge_condition}", *clauses])


def _clauses(asked: MergeTables, session: Session) -> Iterator[str]:
    """The clauses of the statement, those with conditions first."""
    setting = asked.matched_upsert_setting
    if asked.matched_upsert_condition and not setting:
        raise SqlError("'matched_upsert_condition' stands without a setting", _WHERE, "Add matched_upsert_setting.")
    if asked.not_matched_insert_condition and not asked.not_matched_insert_values:
        raise SqlError("'not_matched_insert_condition' stands without values", _WHERE, "Add not_matched_insert_values.")
    by_source = asked.not_matched_by_source_upsert_setting
    if by_source == _ALL:
        fix = "Write the values into not_matched_by_source_upsert_setting, such as a = 1, b = 2."
        raise SqlError("rows that the source has not got cannot get its values", _WHERE, fix)
    matched = ("MATCHED", setting, asked.matched_upsert_condition, asked.matched_delete_condition)
    lacking = (
        "NOT MATCHED BY SOURCE",
        by_source,
        asked.not_matched_by_source_upsert_condition,
        asked.not_matched_by_source_delete_condition,
    )
    for words, upsert, upserted, deleted in (matched, lacking):
        if upsert and deleted and not upserted:
            name = f"{words.lower().replace(' ', '_')}_upsert_condition"
            problem = f"rows are changed and deleted, and '{name}' does not say which"
            raise SqlError(problem, _WHERE, f"Add {name}, or leave the delete out.")
        if upsert:
            changed = _all_columns(asked, session) if upsert == _ALL else upsert
            yield f"WHEN {words}{_and(upserted)} THEN UPDATE SET {changed}"
        if deleted:
            yield f"WHEN {words}{_and(deleted)} THEN DELETE"
    if asked.not_matched_insert_values:
        values = asked.not_matched_insert_values
        values = ", ".join(_source_columns(asked, session)) if values == _ALL else values
        columns = ", ".join(_quoted((name,)) for name in _target_columns(asked, session))
        condition = _and(asked.not_matched_insert_condition)
        yield f"WHEN NOT MATCHED{condition} THEN INSERT ({columns}) VALUES ({values})"


def _and(condition: str | None) -> str:
    return f" AND ({condition})" if condition else ""


def _all_columns(asked: MergeTables, session: Session) -> str:
    """Each column of the target, its keys apart, gets that of the source at the same place."""
    keys = session.table(path_of(asked.target_table)).schema.primary_keys
    pairs = zip(_target_columns(asked, session), _source_columns(asked, session), strict=True)
    return ", ".join(f"{_quoted((name,))} = {value}" for name, value in pairs if name not in keys)


def _target_columns(asked: MergeTables, session: Session) -> list[str]:
    return list(session.table(path_of(asked.target_table)).schema.field_names)


def _source_columns(asked: MergeTables, session: Session) -> list[str]:
    """The columns of the source, as many as the target has. Raises: SqlError."""
    source, needed = path_of(asked.source_table or ""), len(_target_columns(asked, session))
    (cursor,) = statements_of(Source(f"SELECT * FROM {_quoted(source)} LIMIT 0", session.sql_dialect))
    names = run_query(session, cursor.query(), cursor).column_names
    if len(names) != needed:
        problem = f"the source has {len(names)} columns where '*' needs {needed}"
        raise SqlError(problem, f"table {'.'.join(source)}", "Write an assignment for each column: a = s.a, b = s.b.")
    return [_quoted((source[-1], name)) for name in names]


def _check_condition(written: str, name: str, session: SessionState) -> None:
    """Raises: SqlError: an argument is not one whole condition."""
    source = Source(written, session.sql_dialect)
    cursor = Cursor(source, source.tokens(words=True), source.tokens(words=False))
    try:
        cursor.expression()
        cursor.end()
    except SqlError as error:
        raise SqlError(f"{error.found} ({name}, {error.where})", _WHERE, "Write one condition.") from error


def _quoted(path: tuple[str, ...]) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in path)


_ALIKE = ("target_table", "target_alias", "source_sqls", "source_table", "merge_condition")

OPERATION = Operation(
    "merge_tables",
    "Merge the rows of a table or view into a table.",
    MergeTables,
    *lazily(_work, lambda _, __: ()),
    shown=shown,
    keeping=Keeping(_make, _carry_out, (CHANGE_ROWS,)),
    of_catalog=True,
    uses_spark=True,
    spellings=(
        Spelling("merge_into", "Merge the rows of a table or view into a table."),
        Spelling(
            "data_evolution_merge_into",
            # The last one is about Flink's subtasks: here as many tasks work as there is to do.
            parameters=(
                *_ALIKE,
                Param(name="matched_update_set", field="matched_upsert_setting"),
                Param(name="sink_parallelism", read=number),
            ),
            has_plans=False,
        ),
    ),
)


def merge_tables(
    catalog: Catalog,
    target_table: str,
    source_table: str,
    merge_condition: str,
    *,
    dry_run: bool = False,
    spark: "SparkSession | None" = None,
    **changes: Any,
) -> RowChangeReport:
    """Merge the rows of a table or view into a table, with conditions and values in Flink SQL.

    Args:
        target_table, source_table: ``database.table``.
        merge_condition: which rows match, such as ``T.id = S.id``.
        dry_run: only count the rows that would change.
        spark: runs the merge; None = this process does.
        changes: what to do with rows, see `MergeTables`.
    Raises: SqlError: a text does not fit; as `maintenance.operations.merge_into`.
    """
    asked = MergeTables(target_table, source_table=source_table, merge_condition=merge_condition, **changes)
    names = SessionNames(Session(catalog, spark, "flink", makes_default=False))
    return OPERATION.run(Run(spark, names=names), catalog, asked, dry_run=dry_run)
