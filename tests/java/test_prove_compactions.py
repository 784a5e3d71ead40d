"""Compactions that Java makes of random changes are proved, whatever the merge engine and the changelog."""

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from maintenance.operations.checks.prove_compactions import prove_compactions
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
