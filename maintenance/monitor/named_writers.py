"""Which job a commit user stands for, as `writers` of tables.yaml says it.

Flink takes a UUID as its commit user, or a prefix and a UUID (`commit.user-prefix`), so a name may be a pattern.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from maintenance.monitor.judgement import Judgement

# Judgements and errors quote the commit users that they name.
_QUOTED = re.compile(r"'([^'\n]+)'")


def with_jobs(text: str, writers: Mapping[str, str]) -> str:
    """The text with the job behind each commit user that it names. `writers`: commit user or pattern -> job."""

    def named(match: re.Match[str]) -> str:
        job = job_of(match[1], writers)
        return match[0] if job is None else f"{match[0]} ({job})"

    return _QUOTED.sub(named, text) if writers else text


def job_of(commit_user: str, writers: Mapping[str, str]) -> str | None:
    """The job behind a commit user; a full name goes before a pattern. None: nobody has said it."""
    if commit_user in writers:
        return writers[commit_user]
    return next((job for pattern, job in writers.items() if fnmatchcase(commit_user, pattern)), None)


def naming_jobs(judgement: Judgement, writers: Mapping[str, str]) -> Judgement:
    """The judgement with the jobs behind the commit users that it names."""
    return replace(judgement, summary=with_jobs(judgement.summary, writers), fix=with_jobs(judgement.fix, writers))
