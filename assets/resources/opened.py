"""The catalogs that this process has opened: each once, whoever asks, so that its server is not asked for it again.

A code server makes a resource for every tick, and a run one for all of its steps. They share the catalog with the same
options. Connections are given back once nobody is at work; the catalog itself stays known, and connects again.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from maintenance.catalog import Catalog, open_catalog

Options = tuple[tuple[str, str], ...]
_MOST = 32


@dataclass(slots=True)
class OpenedCatalogs:
    """`users`: how many are at work with some of them."""

    users: int = 0
    _known: dict[Options, "Future[Catalog]"] = field(default_factory=dict)
    _guard: Lock = field(default_factory=Lock)

    def get(self, options: Mapping[str, str]) -> Catalog:
        """The catalog of these options. Those who ask while it is being opened wait, and share what comes of it.

        Raises: as `open_catalog`; the next one who asks tries again.
        """
        key: Options = tuple(sorted(options.items()))
        with self._guard:
            known = self._known.get(key)
            opening: Future[Catalog] = known or Future()
            if known is None:
                while len(self._known) >= _MOST:
                    del self._known[next(iter(self._known))]
                self._known[key] = opening
        if known is None:
            self._open(key, opening)
        return opening.result()

    def _open(self, key: Options, opening: "Future[Catalog]") -> None:
        try:
            opening.set_result(open_catalog(dict(key)))
        except BaseException as error:  # noqa: BLE001 - also an interruption: those who wait must not wait for ever
            with self._guard:
                self._known.pop(key, None)
            opening.set_exception(error)

    def begin(self) -> None:
        """Somebody is at work."""
        with self._guard:
            self.users += 1

    def end(self) -> None:
        """Somebody is no longer at work. The last one gives back what the catalogs hold."""
        with self._guard:
            self.users -= 1
            known = [] if self.users else [each for each in self._known.values() if each.done()]
        for each in known:
            if each.exception() is None:
                each.result().close()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While something is done that is no run or tick."""
        self.begin()
        try:
            yield
        finally:
            self.end()


OPENED = OpenedCatalogs()
