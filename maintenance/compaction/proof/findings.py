"""What a proof finds to be wrong, and the time that it takes."""

import time
from collections.abc import Sequence

from maintenance.types.row_hash import Digest


class Findings(Exception):  # noqa: N818 - no error of the family
    """What a proof has found to be wrong. Not for users: who proves turns it into an error of the family."""

    def __init__(self, wrong: Sequence[str], expected: Digest, given: Digest) -> None:
        super().__init__(wrong, expected, given)
        self.wrong, self.expected, self.given = tuple(wrong), expected, given


class Timer:
    """Adds up processor time of this thread."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._since = 0.0

    def __enter__(self) -> None:
        if not self._depth:
            self._since = time.thread_time()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.thread_time() - self._since
