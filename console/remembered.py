"""What is costly to read and may be a little old is read once in a while, and by one request at a time."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """A value that is made again once it is older than some seconds.

    A value that is there already is given at once and made again meanwhile, for the next who asks; one that could not
    be made again stays as it was. Args: `seconds`: 0 = made for everybody who asks.
    """

    def __init__(self, make: Callable[[], Value], seconds: float) -> None:
        self._make = make
        self._seconds = seconds
        self._lock = threading.Lock()
        self._made: tuple[Value, float] | None = None

    def get(self) -> Value:
        """The value. Raises: what making it raises, where there is none yet."""
        if not self._seconds:
            return self._make()
        made = self._made
        if made is None:
            with self._lock:
                return self._fresh() if self._made is None else self._made[0]
        if time.monotonic() - made[1] > self._seconds and self._lock.acquire(blocking=False):
            threading.Thread(target=self._again, daemon=True).start()
        return made[0]

    def at_hand(self) -> Value | None:
        """The value if there is one already, however old; None: somebody would have to wait for it."""
        return None if self._made is None else self.get()

    def _fresh(self) -> Value:
        value = self._make()
        self._made = value, time.monotonic()
        return value

    def _again(self) -> None:
        try:
            self._fresh()
        except Exception:  # noqa: BLE001 - what was read before is shown until it can be read again
            if self._made is not None:
                self._made = self._made[0], time.monotonic()
        finally:
            self._lock.release()
