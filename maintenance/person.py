"""Who does something: what plans, approvals and the history say."""

import os
from getpass import getuser

PERSON = "PAIMON_PERSON"


def person() -> str:
    """The value of `PAIMON_PERSON`, else the user of the operating system; empty where it has no name."""
    try:
        return os.environ.get(PERSON) or getuser()
    except (KeyError, OSError):  # a container whose user has no name
        return ""
