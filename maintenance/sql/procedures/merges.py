"""MERGE INTO as procedures, for Flink's SQL, which has no such statement.

Source: Java `MergeIntoAction`, `DataEvolutionMergeIntoAction`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from maintenance.errors import SqlError
from maintenance.operations.parameters import Parameter, number, text
from maintenance.sql.cursor import Cursor, Source, statements_of
from maintenance.sql.names import path_of
from maintenance.sql.procedures.procedure import Call, Procedure
from maintenance.sql.result import Result

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState

_ALL = "*"
_CONDITIONS = (
    "merge_condition",
    "matched_upsert_condition",
    "not_matched_insert_condition",
    "matched_delete_condition",
    "not_matched_by_source_upsert_condition",
    "not_matched_by_source_delete_condition",
)


def _merge_into(call: Call) -> Result:
    return _merged(call, "sys.merge_into")


def _evolve(call: Call) -> Result:
    return _merged(call, "sys.data_evolution_merge_into")


def _merged(call: Call, where: str) -> Result:
    """Raises: SqlError: an argument is missing, or none of what it says."""
    session = _session(call)
    for _ in session.execute(call.get("source_sqls") or ""):
        pass
    for name in ("source_table", "merge_condition"):
        if not call.get(name):
            raise SqlError(f"argument '{name}' is missing", where, "Give it.")
    for name in _CONDITIONS:
        if call.get(name):
            _checked(call, name, where)
    clauses = list(_clauses(call, session, where))
    if not clauses:
        raise SqlError("no change is given", where, "Set what becomes of rows that match, or that do not.")
    try:
        (result,) = session.execute(_statement(call, clauses))
        return result
    except SqlError as error:
        # The place is one of a text that nobody has written.
        raise SqlError(error.found, where, error.fix, None, None, error.error_class) from error


def _session(call: Call) -> "SessionState":
    """A session in which the statements of the call make their views."""
    session = call.session.in_dialect("flink")
    session.current_catalog, session.current_database = call.session.current_catalog, call.session.current_database
    session.views, session.settings = dict(call.session.views), dict(call.session.settings)
    return session


def _statement(call: Call, clauses: list[str]) -> str:
    target, source = path_of(call.get("target_table")), path_of(call.get("source_table"))
    alias = call.get("target_alias") or target[-1]
    return "\n".join(
        [
            f"MERGE INTO {_quoted(target)} AS {_quoted((alias,))}",
            f"USING {_quoted(source)} AS {_quoted((source[-1],))}",
            f"ON {call.get('merge_condition')}",
            *clauses,
        ]
    )


def _clauses(call: Call, session: "SessionState", where: str) -> Iterator[str]:
    """The clauses of the statement, those with conditions first."""
    setting = call.get("matched_upsert_setting") or call.get("matched_update_set")
    if call.get("matched_upsert_condition") and not setting:
        raise SqlError("'matched_upsert_condition' stands without a setting", where, "Add matched_upsert_setting.")
    if call.get("not_matched_insert_condition") and not call.get("not_matched_insert_values"):
        raise SqlError("'not_matched_insert_condition' stands without values", where, "Add not_matched_insert_values.")
    by_source = call.get("not_matched_by_source_upsert_setting")
    if by_source == _ALL:
        raise SqlError("rows that the source has not got cannot get its values", where, "Write a = 1, b = 2.")
    for upsert, kind in ((setting, "matched"), (by_source, "not_matched_by_source")):
        conditions = [call.get(f"{kind}_{action}_condition") for action in ("upsert", "delete")]
        if upsert and conditions[1] and not conditions[0]:
            problem = f"rows are changed and deleted, and '{kind}_upsert_condition' does not say which"
            raise SqlError(problem, where, "Give both conditions.")
        words = "MATCHED" if kind == "matched" else "NOT MATCHED BY SOURCE"
        if upsert:
            changed = _all_columns(call, session) if upsert == _ALL else upsert
            yield f"WHEN {words}{_and(conditions[0])} THEN UPDATE SET {changed}"
        if conditions[1]:
            yield f"WHEN {words}{_and(conditions[1])} THEN DELETE"
    if call.get("not_matched_insert_values"):
        values = call.get("not_matched_insert_values")
        values = ", ".join(_source_columns(call, session)) if values == _ALL else values
        columns = ", ".join(_quoted((name,)) for name in _target_columns(call, session))
        condition = _and(call.get("not_matched_insert_condition"))
        yield f"WHEN NOT MATCHED{condition} THEN INSERT ({columns}) VALUES ({values})"


def _and(condition: str | None) -> str:
    return f" AND ({condition})" if condition else ""


def _all_columns(call: Call, session: "SessionState") -> str:
    """Each column of the target, its keys apart, gets that of the source at the same place."""
    keys = session.table(path_of(call.get("target_table"))).schema.primary_keys
    pairs = zip(_target_columns(call, session), _source_columns(call, session), strict=True)
    return ", ".join(f"{_quoted((name,))} = {value}" for name, value in pairs if name not in keys)


def _target_columns(call: Call, session: "SessionState") -> list[str]:
    return list(session.table(path_of(call.get("target_table"))).schema.field_names)


def _source_columns(call: Call, session: "SessionState") -> list[str]:
    """The columns of the source, as many as the target has. Raises: SqlError."""
    from maintenance.sql.query.run import run_query

    source, needed = path_of(call.get("source_table")), len(_target_columns(call, session))
    (cursor,) = statements_of(Source(f"SELECT * FROM {_quoted(source)} LIMIT 0", session.sql_dialect))
    names = run_query(session, cursor.query(), cursor).column_names
    if len(names) != needed:
        problem = f"the source has {len(names)} columns where '*' needs {needed}"
        raise SqlError(problem, f"table {'.'.join(source)}", "Write each column.")
    return [_quoted((source[-1], name)) for name in names]


def _checked(call: Call, name: str, where: str) -> None:
    """Raises: SqlError: an argument is not one whole condition."""
    source = Source(call.get(name), call.session.sql_dialect)
    cursor = Cursor(source, source.tokens(words=True), source.tokens(words=False))
    try:
        cursor.expression()
        cursor.end()
    except SqlError as error:
        raise SqlError(f"{error.found} ({name}, {error.where})", where, "Write one condition.") from error


def _quoted(path: tuple[str, ...]) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in path)


def _texts(*names: str) -> list[Parameter]:
    return [Parameter(name, text) for name in names]


_TARGET = Parameter("target_table", text, required=True)
_SOURCE = _texts("target_alias", "source_sqls", "source_table", "merge_condition")

PROCEDURES = (
    Procedure(
        "merge_into",
        (
            _TARGET,
            *_SOURCE,
            *_texts(
                "matched_upsert_condition",
                "matched_upsert_setting",
                "not_matched_insert_condition",
                "not_matched_insert_values",
                "matched_delete_condition",
                "not_matched_by_source_upsert_condition",
                "not_matched_by_source_upsert_setting",
                "not_matched_by_source_delete_condition",
            ),
        ),
        _merge_into,
    ),
    Procedure(
        "data_evolution_merge_into",
        # The last one is about Flink's subtasks: here as many tasks work as there is to do.
        (_TARGET, *_SOURCE, Parameter("matched_update_set", text), Parameter("sink_parallelism", number)),
        _evolve,
    ),
)
