"""SET and RESET of the session's settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot.tokens import TokenType

from maintenance.metadata.zone import local_zone
from maintenance.spark.engine import ENGINE
from maintenance.sql.cursor import Cursor
from maintenance.sql.known_settings import check_setting, hand_to_spark
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse
from maintenance.sql.zones import SETTINGS

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class Set:
    """`key` None: show all settings; `value` None: show one. Only settings that are honoured can be set."""

    key: str | None
    value: str | None

    def run(self, session: "SessionState") -> Result:
        if self.key is not None and self.value is not None:
            if self.key.lower() == ENGINE:
                _switch(session, self.value)
                return Result()
            check_setting(self.key, self.value, session.dialect, session.spark)
            hand_to_spark(self.key, self.value, session.spark)
            session.settings[self.key] = self.value
            return Result()
        known = {ENGINE: str(session.engine), **session.settings}
        shown = {key: value for key, value in known.items() if self.key in (None, key)}
        return Result.of_texts(("key", "value"), sorted(shown.items()))


@dataclass(frozen=True, slots=True)
class Reset:
    """`key` None: forget all settings."""

    key: str | None

    def run(self, session: "SessionState") -> Result:
        if self.key is None or self.key.lower() == ENGINE:
            session.switch(None)
        for key in list(session.settings) if self.key is None else [self.key]:
            if session.settings.pop(key, None) is not None:
                hand_to_spark(key, None, session.spark)
        return Result()


def _switch(session: "SessionState", engine: str) -> None:
    """Run by another engine, if that honours what is set. Raises: SqlError, OptionError: it does not, or is unknown."""
    before = session.running
    session.switch(engine)
    try:
        for key, value in session.settings.items():
            check_setting(key, value, session.dialect, session.spark)
    except BaseException:
        session.running = before
        raise


def _key(cursor: Cursor) -> str:
    """A key in quotes, in Spark's dialect in backticks, or words, dots, dashes and stars."""
    token = cursor.token
    if token is not None and token.token_type is TokenType.STRING:
        return cursor.string()
    if token is not None and token.token_type is TokenType.IDENTIFIER and cursor.is_spark:
        return cursor.name()
    start = cursor.index
    while not cursor.at_end() and not cursor.peek("="):
        cursor.index += 1
    tokens = cursor.words[start : cursor.index]
    if not tokens:
        raise cursor.unexpected("the name of a setting")
    key = cursor.text((tokens[0].start, tokens[-1].end)).strip()
    if any(letter.isspace() for letter in key):
        raise cursor.error(
            f"'{key}' is not the name of a setting", "Write SET, SET key, or SET key = value.", token=tokens[0]
        )
    return key


def _set(cursor: Cursor) -> Set:
    if cursor.at_end() or cursor.take("-", "V"):
        return Set(None, None)
    key = _key(cursor)
    if not cursor.take("="):
        return Set(key, None)
    token = cursor.token
    if token is not None and token.token_type is TokenType.STRING:
        return Set(key, cursor.string())
    return Set(key, cursor.text(cursor.span()).strip())


def _reset(cursor: Cursor) -> Reset:
    return Reset(None if cursor.at_end() else _key(cursor))


def _time_zone(cursor: Cursor) -> Set:
    """Spark's ``SET TIME ZONE``: the name of a zone, or LOCAL, that of this process."""
    if not cursor.is_spark:
        raise cursor.error("Flink has no SET TIME ZONE", f"Write SET '{SETTINGS['flink']}' = 'Asia/Shanghai'.")
    if cursor.take("LOCAL"):
        return Set(SETTINGS["spark"], local_zone())
    if cursor.take("INTERVAL"):
        raise cursor.error(
            "SET TIME ZONE INTERVAL is not supported", "Write the distance from UTC: SET TIME ZONE '+08:30'."
        )
    return Set(SETTINGS["spark"], cursor.string("LOCAL or the name of a zone in quotes"))


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("SET",): _set,
    ("SET", "TIME", "ZONE"): _time_zone,
    ("RESET",): _reset,
}
