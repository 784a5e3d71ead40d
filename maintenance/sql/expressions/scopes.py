"""Where names of a query are looked up: in the tables, queries and lambdas around them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from maintenance.types.data_type import DataType

Columns = Sequence[tuple[str, DataType]]
"""Names as they are shown, with their types."""
Declared = Sequence[tuple[str, DataType | None]]
"""Names with their types as they are declared, with length and NOT NULL; None: it is not known."""

Shown = tuple[str, exp.Expr]
"""A column that a star stands for, by its name."""


@dataclass(slots=True)
class Scope:
    """What a query reads, and what stands around it.

    Attributes:
        sources: what stands in FROM, by the name that columns may have in front, in lower case.
        declared: columns of tables as they are declared, and of queries as far as that is known, by the same names.
        outputs: of the query itself, which its other clauses may name.
        names: the arguments of a lambda, with what DuckDB is told instead.
        shown: the names and columns that a star stands for; `hides`: these are not all columns of all sources, or
            in another order; `hidden`: those that it leaves out, and stars of their tables do not.
        tables: queries of WITH, by name in lower case; `declared_tables`: their columns as far as they are declared.
    """

    around: "Scope | None" = None
    sources: dict[str, Columns] = field(default_factory=dict)
    declared: dict[str, "Declared"] = field(default_factory=dict)
    outputs: dict[str, DataType] = field(default_factory=dict)
    names: Mapping[str, tuple[DataType, exp.Expr]] = field(default_factory=dict)
    tables: dict[str, Columns] = field(default_factory=dict)
    declared_tables: dict[str, "Declared"] = field(default_factory=dict)
    windows: dict[str, exp.Expr] = field(default_factory=dict)
    shown: "Sequence[Shown]" = ()
    hides: bool = False
    hidden: "Sequence[Shown]" = ()

    def find(self, names: Sequence[str]) -> "tuple[DataType, Sequence[str]] | None":
        """The type of a column, and the names behind it, which are fields of a row; None if there is none."""
        lowered = [name.lower() for name in names]
        if len(names) > 1 and lowered[0] in self.sources:
            kind = _of(self.sources[lowered[0]], lowered[1])
            if kind is not None:
                return kind, names[2:]
        for columns in self.sources.values():
            kind = _of(columns, lowered[0])
            if kind is not None:
                return kind, names[1:]
        if lowered[0] in self.outputs:
            return self.outputs[lowered[0]], names[1:]
        return None if self.around is None else self.around.find(names)

    def declared_of(self, names: Sequence[str]) -> DataType | None:
        """The type of a table's column as it is declared; None if it is none of a table."""
        *table, name = (part.lower() for part in names)
        for source, columns in self.sources.items():
            if table not in ([], [source]) or _of(columns, name) is None:
                continue
            return _of(self.declared.get(source, ()), name)
        return None if self.around is None else self.around.declared_of(names)

    def local(self, name: str) -> tuple[DataType, exp.Expr] | None:
        """The argument of a lambda around."""
        scope: Scope | None = self
        while scope is not None:
            if name.lower() in scope.names:
                return scope.names[name.lower()]
            # A column of a query inside a lambda hides its argument.
            if scope.sources and _in_any(scope.sources, name.lower()):
                return None
            scope = scope.around
        return None

    def reads(self, name: str) -> bool:
        """Whether something in FROM has a name, here or around."""
        return name.lower() in self.sources or (self.around is not None and self.around.reads(name))

    def has(self, holds: Callable[[DataType], bool]) -> bool:
        """Whether a column in FROM, here or around, is of some type."""
        is_here = any(holds(kind) for columns in self.sources.values() for _, kind in columns)
        return is_here or (self.around is not None and self.around.has(holds))

    def table(self, name: str) -> Columns | None:
        """A query of WITH."""
        scope: Scope | None = self
        while scope is not None:
            if name.lower() in scope.tables:
                return scope.tables[name.lower()]
            scope = scope.around
        return None

    def declared_table(self, name: str) -> Declared:
        """The same as its columns are declared."""
        scope: Scope | None = self
        while scope is not None:
            if name.lower() in scope.tables:
                return scope.declared_tables.get(name.lower(), ())
            scope = scope.around
        return ()

    def window(self, name: str) -> exp.Expr | None:
        return self.windows.get(name.lower())

    def columns(self) -> list[str]:
        """The names of all columns that there are here."""
        return sorted({name for columns in self.sources.values() for name, _ in columns})


def _of(columns: "Columns | Declared", name: str) -> DataType | None:
    return next((kind for own, kind in columns if own.lower() == name), None)


def _in_any(sources: Mapping[str, Columns], name: str) -> bool:
    return any(_of(columns, name) is not None for columns in sources.values())
