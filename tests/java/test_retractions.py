"""What is refused when it is written is what the Java core stores, and cannot read or compact from then on."""

from pathlib import Path

import pytest

from tests.java.process import JavaError, JavaProcess
from tests.unit.write.test_retractions import FIELDS, REFUSED, TAKEN

# Rows that wait are merged by nobody until they are distributed.
WAITING = ("waiting rows",)


def create(java: JavaProcess, warehouse: str, options: dict[str, str]) -> None:
    java.create_table(warehouse, "db.t", tuple(FIELDS), (["k"], []), {"bucket": "1", "write-only": "true", **options})


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in WAITING])
def test_java_stores_it_and_fails_ever_after(java: JavaProcess, tmp_path: Path, name: str) -> None:
    options, row, kind, _ = REFUSED[name]
    warehouse = str(tmp_path)
    create(java, warehouse, dict(options))
    java.write(warehouse, "db.t", [(1, 5, 7, "a")], ["+I"])
    java.write(warehouse, "db.t", [(*row, "a")], [kind])
    # A first-row table shows only what is compacted.
    later = java.compact if options["merge-engine"] == "first-row" else java.rows
    with pytest.raises(JavaError):
        later(warehouse, "db.t")


@pytest.mark.parametrize("name", TAKEN)
def test_java_goes_on_with_the_others(java: JavaProcess, tmp_path: Path, name: str) -> None:
    options, row, kind = TAKEN[name]
    warehouse = str(tmp_path)
    create(java, warehouse, dict(options))
    java.write(warehouse, "db.t", [(1, 5, 7, "a")], ["+I"])
    java.write(warehouse, "db.t", [(*row, None)], [kind])
    java.rows(warehouse, "db.t")
    java.compact(warehouse, "db.t")
