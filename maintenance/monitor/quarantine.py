"""Has a rewrite of the table failed its verification?

Rejected files stay in the table's quarantine until somebody has looked at them and deletes them. The table itself is
unchanged.
"""

import json
from datetime import datetime

from maintenance.compaction.proof.quarantine import FOLDER, REPORT
from maintenance.metadata.paths import bucket_text
from maintenance.monitor.judgement import Judgement
from maintenance.table.table import Table

NOTHING_QUARANTINED = "nothing_quarantined"


def nothing_quarantined(table: Table) -> Judgement:
    """The quarantine of the table is empty."""
    root = f"{table.paths.root}/{FOLDER}"
    names = table.file_io.list_folders(root)
    details = {"refused rewrites": len(names)}
    if not names:
        return Judgement(NOTHING_QUARANTINED, True, "no rewrite has failed its verification", details=details)
    newest = f"{root}/{names[-1]}"
    in_all = f"; {len(names)} in all" if len(names) > 1 else ""
    fix = (
        f"Nothing was committed. Report the fault with the content of {newest}, then delete that folder. Compact"
        " again; if that fails in the same way, roll back to a snapshot before the files that it read."
    )
    return Judgement(NOTHING_QUARANTINED, False, f"{_summary(table, newest)}{in_all}", fix, details)


def _summary(table: Table, folder: str) -> str:
    """What the report in a folder says; that it is not there, if it is not, or not whole."""
    try:
        report = json.loads(table.file_io.read_bytes(f"{folder}/{REPORT}"))
        at = datetime.fromisoformat(report["time"])
        place = bucket_text(report["partition"], report["bucket"])
        wrong = "; ".join(str(each) for each in report["wrong"])
        return f"a {report['rewrite']} failed its verification at {at:%Y-%m-%d %H:%M} UTC in {place}: {wrong}"
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return f"a rewrite failed its verification; {folder} holds no complete {REPORT}"
