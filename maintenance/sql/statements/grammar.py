"""Which words start which statement."""

from collections.abc import Mapping

from maintenance.spelling import suggestion
from maintenance.sql.cursor import Cursor
from maintenance.sql.statements import (
    alter_table,
    analyze,
    calls,
    catalogs,
    copy_into,
    create_table,
    databases,
    describe,
    drops,
    explain,
    inserts,
    materialized,
    queries,
    refused,
    row_changes,
    settings,
    shows,
    spark_details,
    statement_sets,
    tags,
    views,
)
from maintenance.sql.statements.statement import Parse, Statement


def words() -> list[str]:
    """The words that statements begin with, sorted."""
    return sorted({word for statement in _STATEMENTS for word in statement if word.isalpha()})


def parse(cursor: Cursor) -> Statement:
    """The statement of a cursor. Raises: SqlError: there is none like it, or something follows it."""
    for length in range(_LONGEST, 0, -1):
        for words, read in _STATEMENTS.items():
            if len(words) == length and cursor.take(*words):
                statement = read(cursor)
                cursor.end()
                return statement
    token = cursor.token
    assert token is not None
    following = cursor.words[cursor.index + 1 : cursor.index + 2]
    known = [words for words in _STATEMENTS if words not in refused.STATEMENTS]
    starts = sorted({words[0] for words in known})
    same_start = sorted({" ".join(words) for words in known if words[0] == token.text.upper()})
    if same_start and following:
        text = f"{token.text} {following[0].text}"
        raise cursor.error(
            f"'{text}' is not a statement",
            f"There are: {', '.join(same_start)}.{suggestion(text.upper(), same_start)}",
            token=following[0],
        )
    raise cursor.error(
        f"no statement starts with '{token.text}'",
        f"Statements start with {', '.join(starts)}.{suggestion(token.text.upper(), starts)}",
        token=token,
    )


_STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    **catalogs.STATEMENTS,
    **databases.STATEMENTS,
    **create_table.STATEMENTS,
    **alter_table.STATEMENTS,
    **analyze.STATEMENTS,
    **drops.STATEMENTS,
    **shows.STATEMENTS,
    **spark_details.STATEMENTS,
    **tags.STATEMENTS,
    **describe.STATEMENTS,
    **views.STATEMENTS,
    **materialized.STATEMENTS,
    **inserts.STATEMENTS,
    **row_changes.STATEMENTS,
    **calls.STATEMENTS,
    **copy_into.STATEMENTS,
    **settings.STATEMENTS,
    **statement_sets.statements_with(parse),
    **queries.STATEMENTS,
    **explain.STATEMENTS,
    **refused.STATEMENTS,
}
_LONGEST = max(map(len, _STATEMENTS))
