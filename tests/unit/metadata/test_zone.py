"""The zone of this process, by its name, by a link and by its offset."""

import time
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from maintenance.metadata import zone
from maintenance.metadata.zone import local_time, local_zone


@pytest.mark.parametrize("named", ["Europe/Berlin", ":Europe/Berlin"])
def test_the_variable_names_it(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("TZ", named)
    assert local_zone() == "Europe/Berlin"


@pytest.mark.parametrize(
    ("west", "named"), [(0, "UTC"), (3600, "Etc/GMT+1"), (18000, "Etc/GMT+5"), (-3600, "Etc/GMT-1"), (1800, "UTC")]
)
def test_an_unknown_name_leaves_the_offset(monkeypatch: pytest.MonkeyPatch, west: int, named: str) -> None:
    monkeypatch.setattr(time, "timezone", west)
    for unknown in ("No/Such_Zone", "../etc/passwd"):
        monkeypatch.setenv("TZ", unknown)
        assert local_zone() == named


def test_the_link_of_the_system_names_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TZ", raising=False)
    link = tmp_path / "localtime"
    monkeypatch.setattr(zone, "_LOCAL", link)
    for name in ("Asia/Tokyo", "America/New_York"):
        target = tmp_path / "zoneinfo" / name
        target.parent.mkdir(parents=True)
        target.touch()
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        assert local_zone() == name


def test_without_a_link_the_offset_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TZ", "")
    monkeypatch.setattr(time, "timezone", 7200)
    monkeypatch.setattr(zone, "_LOCAL", tmp_path / "localtime")
    zone._zone_at.cache_clear()
    assert local_zone() == "Etc/GMT+2"
    (tmp_path / "localtime").touch()
    zone._zone_at.cache_clear()
    assert local_zone() == "Etc/GMT+2", "a file that is not a link has no name"
    zone._zone_at.cache_clear()


def test_moments_on_the_local_clock() -> None:
    plain = datetime(2024, 5, 14, 10, 20)
    assert local_time(plain) == plain
    moment = datetime(2024, 5, 14, 10, 20, tzinfo=timezone(timedelta(hours=5)))
    assert local_time(moment) == datetime.fromtimestamp(moment.timestamp())
    before, now, after = datetime.now(), local_time(None), datetime.now()
    assert before <= now <= after
    assert local_time(datetime.now(UTC)).tzinfo is None
