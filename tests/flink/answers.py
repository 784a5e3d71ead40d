"""What a real Flink says of expressions: the type, and the values in a form that Python has.

All queries run in one mini cluster: to start one for each takes longer than the query.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.flink.session import SETTINGS, Flink, start
from tests.java.process import JavaProcess, answer

_BATCH = 20
_NANOS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Answer:
    """Attributes: `kind`: the type, as Flink writes it, empty if it refuses the expression; `values`: by row; `error`:
    of a row, or why it is refused.
    """

    kind: str = ""
    values: Sequence[Any] = field(default=())
    error: str = ""


def answers_process(warehouse: Path, folder: Path) -> JavaProcess:
    """A process whose attributes are the methods of `Answers`."""
    return JavaProcess(serve, str(warehouse), str(folder))


def serve(connection: Connection, warehouse: str, folder: str) -> None:
    """Answer calls until the other side hangs up. Runs in Flink's process."""
    import os

    start(Path(folder))
    answer(connection, Answers(warehouse, folder))
    os._exit(0)  # the cluster would keep the JVM alive


class Answers:
    """Queries of one warehouse in one cluster."""

    def __init__(self, warehouse: str, folder: str) -> None:
        self._cluster, address = _cluster(folder)
        remote = {"execution.target": "remote", "rest.address": address.getHost(), "rest.port": str(address.getPort())}
        self._session = Flink(warehouse, folder, {key: str(text) for key, text in remote.items()})
        self._session.batch.getConfig().set("table.local-time-zone", "UTC")
        self._tables = 0

    def functions(self) -> list[str]:
        """The names of Flink's built-in functions."""
        return sorted(str(name) for name in self._session.batch.listFunctions())

    def of(self, texts: Sequence[str], query: str, alone: Sequence[str] = ()) -> list[Answer]:
        """What becomes of each expression, in `query`, which has ``{x}`` in its place. `alone`: is asked by itself."""
        import jpype

        found: dict[str, Answer] = {}
        for text in texts:
            try:
                schema = self._session.batch.sqlQuery(query.format(x=f"{text} AS x")).getResolvedSchema()
            except jpype.JException as error:
                found[text] = Answer(error=_reason(error))
                continue
            kind = schema.getColumnDataTypes().get(schema.getColumnCount() - 1).getLogicalType()
            # Of some types there is only what is shown: RAW, and a CHAR or BINARY of no length.
            is_only_shown = "RAW" in str(kind) or "(0)" in str(kind).replace("TIME(0)", "").replace("STAMP(0)", "")
            found[text] = Answer(str(kind if is_only_shown else kind.asSerializableString()))
        known = [text for text in texts if found[text].kind]
        self._read([text for text in known if text not in alone], query, found)
        for text in alone:
            if text in known:
                self._read([text], query, found)
        return [found[text] for text in texts]

    def written(self, found: Sequence[tuple[str, str]], where: str = "") -> list[Answer]:
        """What INSERT stores of each expression over `db.samples` in a column of the type that stands beside it."""
        import jpype

        answers: dict[tuple[str, str], Answer] = {}
        for kind in dict.fromkeys(kind for _, kind in found):
            taken = []
            one = self._table_of([kind])
            for text in dict.fromkeys(text for text, other in found if other == kind):
                try:
                    self._session.batch.explainSql(f"INSERT INTO {one} SELECT id, {text} FROM db.samples {where}")
                except jpype.JException as error:
                    answers[text, kind] = Answer(error=_reason(error))
                else:
                    taken.append(text)
            for start_ in range(0, len(taken), _BATCH):
                self._write(taken[start_ : start_ + _BATCH], kind, where, answers)
        return [answers[each] for each in found]

    def _write(self, texts: Sequence[str], kind: str, where: str, answers: dict[tuple[str, str], Answer]) -> None:
        import jpype

        table = self._table_of([kind] * len(texts))
        try:
            self._session.batch.executeSql(
                f"INSERT INTO {table} SELECT id, {', '.join(texts)} FROM db.samples {where}"
            ).await_()
            rows = self._rows(f"SELECT * FROM {table}")
        except jpype.JException as error:
            if len(texts) == 1:
                answers[texts[0], kind] = Answer(kind, error=_reason(error))
                return
            half = len(texts) // 2
            self._write(texts[:half], kind, where, answers)
            self._write(texts[half:], kind, where, answers)
            return
        for number, text in enumerate(texts):
            answers[text, kind] = Answer(kind, [row[number + 1] for row in rows])

    def _table_of(self, kinds: Sequence[str]) -> str:
        """A new table of columns of these types, behind the id."""
        self._tables += 1
        listed = ", ".join(f"x{number} {kind}" for number, kind in enumerate(kinds))
        self._session.batch.executeSql(f"CREATE TABLE db.written_{self._tables} (id INT, {listed})")
        return f"db.written_{self._tables}"

    def _read(self, texts: Sequence[str], query: str, found: dict[str, Answer]) -> None:
        import jpype

        for start_ in range(0, len(texts), _BATCH):
            batch = texts[start_ : start_ + _BATCH]
            listed = ", ".join(f"{text} AS x{number}" for number, text in enumerate(batch))
            try:
                rows = self._rows(query.format(x=listed))
            except jpype.JException as error:
                if len(batch) == 1:
                    found[batch[0]] = Answer(found[batch[0]].kind, error=_reason(error))
                    continue
                half = len(batch) // 2
                self._read(batch[:half], query, found)
                self._read(batch[half:], query, found)
                continue
            for number, text in enumerate(batch):
                found[text] = Answer(found[text].kind, [row[number + 1] for row in rows])

    def _rows(self, query: str) -> list[list[Any]]:
        """The rows, by their first column."""
        actual = self._session.batch.executeSql(query).collect()
        rows = [[plain(row.getField(at)) for at in range(row.getArity())] for row in actual]
        actual.close()
        return sorted(rows, key=lambda row: repr(row[0]))


def _cluster(folder: str) -> tuple[Any, Any]:
    """A cluster in this JVM, and where it listens."""
    import jpype

    flink = jpype.JPackage("org").apache.flink
    settings = flink.configuration.Configuration()
    for key, text in {**SETTINGS, "rest.bind-port": "0", "io.tmp.dirs": folder}.items():
        settings.setString(key, text)
    runtime = flink.runtime.minicluster
    built = runtime.MiniClusterConfiguration.Builder().setConfiguration(settings)
    cluster = runtime.MiniCluster(built.setNumTaskManagers(1).setNumSlotsPerTaskManager(4).build())
    cluster.start()
    return cluster, cluster.getRestAddress().get()


def _reason(error: Any) -> str:
    """The innermost message."""
    while error.getCause() is not None:
        error = error.getCause()
    return f"{error.getClass().getSimpleName()}: {error.getMessage()}"[:300]


def plain(java: Any) -> Any:
    """A value of Python: times are nanoseconds, bytes their digits, maps lists of pairs, decimals and floats texts."""
    if java is None or isinstance(java, str | bool):
        return java
    kind = str(java.getClass().getSimpleName())
    if kind == "Boolean":
        return bool(java)
    if kind in ("Byte", "Short", "Integer", "Long"):
        return int(java)
    if kind == "byte[]":
        return bytes(java).hex()
    if kind in ("LocalDate", "LocalTime", "LocalDateTime", "Instant"):
        return _time(java, kind)
    if kind == "BigDecimal":
        return str(java.toPlainString())
    if kind == "Row":
        return [plain(java.getField(at)) for at in range(java.getArity())]
    if kind.endswith("[]"):
        return [plain(each) for each in java]
    if kind.endswith("Map"):
        return sorted(([plain(each.getKey()), plain(each.getValue())] for each in java.entrySet()), key=repr)
    return str(java)


def _time(java: Any, kind: str) -> int:
    """Days, or nanoseconds."""
    if kind == "LocalDate":
        return int(java.toEpochDay())
    if kind == "LocalTime":
        return int(java.toNanoOfDay())
    if kind == "LocalDateTime":
        import jpype

        java = java.toInstant(jpype.JPackage("java").time.ZoneOffset.UTC)
    return int(java.getEpochSecond()) * _NANOS + int(java.getNano())
