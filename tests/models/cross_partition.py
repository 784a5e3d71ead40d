"""What a table holds whose keys may change their partition: a dict, and for each merge engine what a record does."""

from dataclasses import dataclass, field

Row = tuple[int, str, str | None]


@dataclass
class CrossPartitionModel:
    """Rows `(key, partition, value)`, by their key."""

    engine: str
    rows: dict[int, Row] = field(default_factory=dict)

    def write(self, kind: str, row: Row) -> None:
        key, _, value = row
        old = self.rows.get(key)
        if self.engine == "deduplicate":
            if kind == "-D":
                self.rows.pop(key, None)
            else:
                self.rows[key] = row
        elif self.engine == "first-row":
            self.rows.setdefault(key, row)
        elif old is None:
            self.rows[key] = row
        else:
            self.rows[key] = (key, old[1], old[2] if value is None else value)

    def write_all(self, rows: list[Row], kind: str = "+I") -> None:
        for row in rows:
            self.write(kind, row)
