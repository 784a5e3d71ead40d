"""A process opens each catalog once, and gives its connections back when nobody is at work."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Any

import dagster as dg
import pytest

from maintenance.errors import InfrastructureError
from paimon_maintenance.assets.resources import catalog as resource
from paimon_maintenance.assets.resources import opened
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.opened import OpenedCatalogs

_OPTIONS = {"warehouse": "/lake"}


class Fake:
    """Counts how often it is closed."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class Opening:
    """Stands in for `open_catalog`. `failing`: how many calls fail; `held`: what they wait for."""

    def __init__(self) -> None:
        self.opened: list[tuple[Mapping[str, str], Fake]] = []
        self.calls, self.failing = 0, 0
        self.held = Event()
        self.held.set()

    def __call__(self, options: Mapping[str, str]) -> Any:
        self.calls += 1
        self.held.wait(10)
        if self.calls <= self.failing:
            raise InfrastructureError("the server cannot be reached", "http://lake", "Run again.")
        self.opened.append((options, Fake()))
        return self.opened[-1][1]


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> Opening:
    stand_in = Opening()
    monkeypatch.setattr(opened, "open_catalog", stand_in)
    monkeypatch.setattr(resource, "OPENED", OpenedCatalogs())
    return stand_in


def test_threads_that_ask_together_share_one(opening: Opening) -> None:
    catalogs, together = OpenedCatalogs(), Barrier(8)

    def get(_: int) -> Any:
        together.wait(10)
        return catalogs.get(_OPTIONS)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(get, range(8)))
    assert opening.calls == 1
    assert {id(one) for one in found} == {id(opening.opened[0][1])}


def test_one_that_cannot_be_opened_is_tried_again(opening: Opening) -> None:
    catalogs, opening.failing = OpenedCatalogs(), 1
    with pytest.raises(InfrastructureError):
        catalogs.get(_OPTIONS)
    assert catalogs.get(_OPTIONS) is catalogs.get(_OPTIONS)
    assert opening.calls == 2


def test_other_options_are_another_catalog(opening: Opening) -> None:
    catalogs = OpenedCatalogs()
    first, second = catalogs.get(_OPTIONS), catalogs.get({**_OPTIONS, "token": "new"})
    assert first is not second
    assert [options for options, _ in opening.opened] == [_OPTIONS, {**_OPTIONS, "token": "new"}]


def test_only_the_catalogs_opened_last_are_remembered(opening: Opening) -> None:
    catalogs = OpenedCatalogs()
    for number in range(40):
        catalogs.get({"warehouse": f"/{number}"})
    catalogs.get({"warehouse": "/39"})
    assert opening.calls == 40
    catalogs.get({"warehouse": "/0"})
    assert opening.calls == 41


def test_the_last_one_at_work_closes(opening: Opening) -> None:
    catalogs = OpenedCatalogs()
    with catalogs.at_work():
        with catalogs.at_work():
            catalogs.get(_OPTIONS)
        assert opening.opened[0][1].closed == 0
    assert opening.opened[0][1].closed == 1


def test_runs_and_ticks_share_a_catalog_and_close_it(opening: Opening) -> None:
    seen: list[Any] = []

    @dg.op
    def step(catalog: PaimonCatalog) -> None:
        seen.append(catalog.open())
        assert opening.opened[0][1].closed == 0

    @dg.job(resource_defs={"catalog": PaimonCatalog(warehouse="/lake")})
    def job() -> None:
        step.alias("one")()
        step.alias("two")()

    @dg.sensor(job=job)
    def sensor(catalog: PaimonCatalog) -> dg.SkipReason:
        seen.append(catalog.open())
        return dg.SkipReason("nothing")

    with dg.instance_for_test() as instance:
        assert job.execute_in_process(instance=instance).success
        assert opening.opened[0][1].closed == 1
        with dg.build_sensor_context(instance, resources={"catalog": PaimonCatalog(warehouse="/lake")}) as context:
            sensor.evaluate_tick(context)
    assert opening.opened[0][1].closed == 2
    assert (len({id(one) for one in seen}), opening.calls) == (1, 1)
