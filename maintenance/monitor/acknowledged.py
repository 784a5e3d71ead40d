"""What somebody has looked at and found in order no longer fails a check; what happened since then does."""

from collections.abc import Callable, Mapping, Sequence
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


def but_acknowledged(found: Sequence[Judgement], made: Callable[[], Mapping[str, Acknowledged]]) -> Sequence[Judgement]:
    """Judgements, passed where all that they found had been acknowledged. `made`: asked only if one did not pass."""
    if all(judgement.passed for judgement in found):
        return found
    known = made()
    return [with_acknowledged(judgement, known) for judgement in found]
