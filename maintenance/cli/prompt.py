"""The prompt of ``paimonctl sql``: statements over several lines until a semicolon, history, completion.

With prompt_toolkit (the extra `cli`) if it is there, else with the standard library's readline.
"""

import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maintenance.errors import PaimonError
from maintenance.sql.cursor import Source, statements_of
from maintenance.sql.statements.grammar import words

if TYPE_CHECKING:
    from maintenance.sql.session import Session

FIRST, FURTHER = "paimon> ", "      > "
_LEAVE = ("quit", "exit", "\\q")
_HELP = ("help", "\\h", "?")
_HELP_TEXT = """A statement ends with a semicolon and may go over several lines. Ctrl-C forgets what is begun.
SHOW DATABASES; SHOW TABLES; SHOW PROCEDURES; list what there is. DESCRIBE <table>; shows a table's columns.
SELECT * FROM `<table>$snapshots`; shows a table's snapshots. CALL sys.<procedure>(...); carries out an operation.
exit, quit or Ctrl-D leaves."""
_SOME = 200


def history_path() -> Path:
    """Where what was typed is kept."""
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "paimonctl" / "history"


def statements(read_line: Callable[[str], str], session: "Session") -> Iterator[str]:
    """What is typed, statement by statement, until ``quit`` or the end of the input.

    ``help`` says what can be typed. Ctrl-C forgets what is begun.

    Args: `read_line`: shows a prompt and gives a line. Raises: EOFError: at its end.
    """
    lines: list[str] = []
    while True:
        try:
            line = read_line(FURTHER if lines else FIRST)
        except KeyboardInterrupt:
            lines = []
            continue
        except EOFError:
            if any(part.strip() for part in lines):
                yield "\n".join(lines)
            return
        word = "" if lines else line.strip().rstrip(";").lower()
        if word in _LEAVE:
            return
        if word in _HELP:
            click.echo(_HELP_TEXT)
            continue
        if lines or line.strip():
            lines.append(line)
        if lines and is_complete("\n".join(lines), session):
            yield "\n".join(lines)
            lines = []


def is_complete(text: str, session: "Session") -> bool:
    """Whether a semicolon ends the text, not one in a literal or comment."""
    if ";" not in text:
        return False
    try:
        source = Source(text, session.sql_dialect)
        before, after = statements_of(source), statements_of(Source(text + " x", session.sql_dialect))
    except PaimonError:  # a quote is open
        return False
    return len(after) > len(before)


def completions(session: "Session", word: str) -> list[str]:
    """The words that may be meant by the beginning of one: of statements, tables and columns."""
    start = word.lower()
    names = [name for name in _names(session) if name.lower().startswith(start)]
    typed = [each if word.isupper() or not word else each.lower() for each in words() if each.lower().startswith(start)]
    return sorted(names) + sorted(typed)


def _names(session: "Session") -> set[str]:
    """Databases, tables and views of the current one, and columns of its first tables."""
    try:
        catalog = session.current()
        tables = catalog.list_tables(session.current_database)
        names = {
            *catalog.list_databases(),
            *tables,
            *session.view_names(session.current_catalog, session.current_database),
        }
        for table in tables[:_SOME]:
            names |= {table + "$" + name for name in ("snapshots", "files", "options")}
            names |= {column.name for column in session.table((table,)).schema.fields}
    except PaimonError:  # there is none now
        return set()
    return names


def line_reader(session: "Session") -> Callable[[str], str]:
    """How lines are read from the terminal."""
    history = history_path()
    history.parent.mkdir(parents=True, exist_ok=True)
    if find_spec("prompt_toolkit") is not None:
        return _with_toolkit(session, history)
    return _with_readline(session, history)


def _with_toolkit(session: "Session", history: Path) -> Callable[[str], str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.history import FileHistory

    class Names(Completer):
        def get_completions(self, document: Any, complete_event: Any) -> Iterator[Completion]:
            word = document.get_word_before_cursor(WORD=True)
            for word_or_name in completions(session, word) if word else ():
                yield Completion(word_or_name, start_position=-len(word))

    prompting: Any = PromptSession(
        history=FileHistory(str(history)), completer=Names(), complete_while_typing=False, complete_in_thread=True
    )
    read: Callable[[str], str] = prompting.prompt
    return read


def _with_readline(session: "Session", history: Path) -> Callable[[str], str]:
    try:
        import readline
    except ImportError:  # a Python without it
        return input
    import atexit

    names: list[str] = []

    def complete(word: str, state: int) -> str | None:
        if state == 0:
            names[:] = completions(session, word) if word else []
        return names[state] if state < len(names) else None

    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n(),;'`")
    readline.parse_and_bind("tab: complete")
    if history.exists():
        readline.read_history_file(history)
    atexit.register(readline.write_history_file, history)
    return input
