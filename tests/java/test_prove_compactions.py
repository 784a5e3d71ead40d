"""Compactions that Java makes of random changes are proved, whatever the merge engine and the changelog."""

import itertools
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.operations.checks.audit_changelog import audit_changelog
from maintenance.operations.checks.prove_compactions import prove_compactions
from tests.examples import examples
from tests.java.process import JavaProcess
from tests.java.samples import table_of
from tests.java.test_changelog import CASES, COLUMNS, FIRST_ROW, OLDER, older_rows, random_batch

KINDS: Mapping[str, Mapping[str, str]] = {
    "no changelog": {"num-sorted-run.compaction-trigger": "2"},
    "lookup": {"changelog-producer": "lookup"},
    "full compaction": {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "3"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "vectors and lookup": {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
}
# Java refuses the others.
OF_FIRST_ROW = ("no changelog", "lookup")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, kind) for name in CASES for kind in KINDS),
        *((name, kind) for name in FIRST_ROW for kind in OF_FIRST_ROW),
    ],
)
def test_compactions_of_java_hold(java: JavaProcess, tmp_path: Path, name: str, kind: str) -> None:
    case = (CASES | FIRST_ROW)[name]
    dice = random.Random(f"{name} {kind}")
    warehouse = str(tmp_path)
    options = {"bucket": dice.choice("12"), **KINDS[kind], **case.options}
    java.create_table(warehouse, "db.t", COLUMNS, (["id"], []), options)
    for number in range(8):
        rows, kinds = random_batch(dice, case.kinds)
        if number == 0 and dice.random() < 0.5:
            rows, kinds = [*older_rows(), *rows], ["+I"] * OLDER + kinds
        java.write(warehouse, "db.t", rows, kinds)
        if dice.random() < 0.2:
            java.compact(warehouse, "db.t")
    report = prove_compactions(None, table_of(warehouse))
    assert report.proofs
    assert [proof for proof in report.proofs if not proof.holds] == []


@pytest.mark.slow
def test_none_of_many_sound_compactions_is_taken_for_a_wrong_one(java: JavaProcess, tmp_path: Path) -> None:
    """A hundred of them, a thousand and more in a search."""
    dice, proved = random.Random(77), 0
    kinds = [(name, kind) for name in CASES for kind in KINDS]
    for number in itertools.count():
        name, kind = dice.choice(kinds)
        warehouse = str(tmp_path / str(number))
        options = {**CASES[name].options, **KINDS[kind], "bucket": "1", "num-sorted-run.compaction-trigger": "1"}
        java.create_table(warehouse, "db.t", COLUMNS, (["id"], []), options)
        for _ in range(40):
            java.write(warehouse, "db.t", *random_batch(dice, CASES[name].kinds))
        report = prove_compactions(None, table_of(warehouse))
        assert [(name, kind, proof) for proof in report.proofs if not proof.holds] == []
        proved += sum(not proof.not_proved for proof in report.proofs)
        if proved >= examples(170):
            return


@pytest.mark.parametrize("producer", ["none", "lookup", "full-compaction"])
def test_maps_of_avro_files_that_java_puts_in_another_order(java: JavaProcess, tmp_path: Path, producer: str) -> None:
    """Its reader of Avro files forgets the order of entries, so its compactions and changelogs have another one."""
    columns = (("id", "INT NOT NULL"), ("m", "MAP<STRING, INT>"))
    options = {"file.format": "avro", "bucket": "1", "write-only": "true", "changelog-producer": producer}
    warehouse = str(tmp_path)
    java.create_table(warehouse, "db.t", columns, (["id"], []), options)
    java.write(warehouse, "db.t", [(1, [("b", 1), ("a", 2)])])
    java.write(warehouse, "db.t", [(2, [("b", 1), ("a", 2)])])
    java.compact(warehouse, "db.t")
    table = table_of(warehouse)
    assert rows_in_order(table, "2") != rows_in_order(table, "3")
    assert [proof.holds for proof in prove_compactions(None, table).proofs] == [True]
    assert producer == "none" or audit_changelog(None, table).holds
    between = {"incremental-between": "2,3", "incremental-between-scan-mode": "diff"}
    assert table.to_arrow(options=between).num_rows == len(java.rows(warehouse, "db.t", between)) == 0


def rows_in_order(table: CatalogTable, snapshot: str) -> list[Mapping[str, Any]]:
    """The rows of a snapshot, entries of maps as they are in the files."""
    return table.to_arrow(options={"scan.snapshot-id": snapshot}).sort_by("id").to_pylist()
