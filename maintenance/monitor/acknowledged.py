"""What somebody has looked at and found in order no longer fails a check; what happened since then does."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC

from maintenance.monitor.judgement import Judgement
from maintenance.table.acknowledged import Acknowledged


def with_acknowledged(judgement: Judgement, made: Mapping[str, Acknowledged]) -> Judgement:
    """The judgement, passed if all that it found had been acknowledged."""
    known = made.get(judgement.check)
    named = judgement.details.get("snapshots", ())
    if judgement.passed or known is None or not named or max(named) > known.snapshot_id:
        return judgement
    when = f"{known.at.astimezone(UTC):%Y-%m-%d}"
    summary = f"acknowledged by {known.name} on {when}: {known.reason}. It was: {judgement.summary}"
    details = {**judgement.details, "acknowledged by": known.name, "acknowledged on": when, "reason": known.reason}
    return replace(judgement, passed=True, summary=summary, fix="", details=details)
