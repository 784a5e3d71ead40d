"""Which partitions of two branches make up each partition of a chain table."""

from collections.abc import Collection

import pytest

from maintenance.errors import DataError, OptionError
from maintenance.format.rows.binary_row import serialize_row
from maintenance.options.model import TableModel
from maintenance.scan.chain import Chains, Link
from maintenance.types.data_type import DataField, parse_type

DAYS = {"partition.timestamp-pattern": "$day", "partition.timestamp-formatter": "yyyyMMdd"}
HOURS = {"partition.timestamp-pattern": "$day $hour", "partition.timestamp-formatter": "yyyyMMdd HH"}
GROUPS = {**HOURS, "chain-table.chain-partition-keys": "day,hour"}


def chains(options: dict[str, str], *names: str) -> Chains:
    fields = [DataField(number, name, parse_type("STRING")) for number, name in enumerate(names)]
    return Chains.of(fields, TableModel(options), "db.t")


def row(*values: str | None) -> bytes:
    return serialize_row(values, [parse_type("STRING")] * len(values))


def links(
    chain: Chains, wanted: str, changes: Collection[str], anchors: Collection[str]
) -> tuple[str | None, list[str]]:
    """Of one partition; values are parted by blanks."""
    names = {row(*text.split()): text for text in (wanted, *changes, *anchors)}
    parts = [[row(*text.split()) for text in texts] for texts in ((wanted,), changes, anchors)]
    (link,) = chain.links(*parts).values()
    assert isinstance(link, Link)
    return (None if link.anchor is None else names[link.anchor]), [names[change] for change in link.changes]


@pytest.mark.parametrize(
    ("changes", "anchors", "found"),
    [
        # The nearest complete partition before it, and the changes of each day since, its own among them.
        (["05", "08", "10"], ["01", "06"], ("06", ["08", "10"])),
        (["10"], ["09"], ("09", ["10"])),
        (["10"], ["10"], (None, ["10"])),
        (["06", "07", "10"], ["06"], ("06", ["07", "10"])),
        # Nothing later counts.
        (["10", "11"], ["09", "11"], ("09", ["10"])),
        # Without a complete one all earlier changes do, in order.
        (["10", "02", "01"], [], (None, ["01", "02", "10"])),
        ([], ["03"], ("03", [])),
        ([], [], (None, [])),
    ],
)
def test_a_day_is_its_nearest_anchor_and_the_changes_of_the_days_since(
    changes: list[str], anchors: list[str], found: tuple[str | None, list[str]]
) -> None:
    def days(texts: list[str]) -> list[str]:
        return [f"202508{text}" for text in texts]

    anchor = None if found[0] is None else f"202508{found[0]}"
    assert links(chains(DAYS, "day"), "20250810", days(changes), days(anchors)) == (anchor, days(found[1]))


def test_an_hour_is_its_nearest_anchor_and_the_changes_since() -> None:
    chain = chains(HOURS, "day", "hour")
    changes = ["20250809 23", "20250810 00", "20250810 01", "20250810 22"]
    actual = links(chain, "20250810 22", changes, ["20250809 22", "20250809 20"])
    assert actual == ("20250809 22", changes)
    assert links(chain, "20250810 01", changes, ["20250810 00"]) == ("20250810 00", ["20250810 01"])


def test_each_group_has_a_chain_of_its_own() -> None:
    chain = chains(GROUPS, "region", "day", "hour")
    changes = ["eu 20250810 01", "us 20250810 01", "eu 20250810 02"]
    anchors = ["us 20250809 01", "eu 20250808 05"]
    assert links(chain, "eu 20250810 02", changes, anchors) == ("eu 20250808 05", ["eu 20250810 01", "eu 20250810 02"])
    assert chain.group(row("eu", "20250810", "01")) == row("eu")
    places = [chain.place(row("eu", "20250810", hour)) for hour in ("01", "02", "10")]
    assert places == sorted(places)
    assert chain.place(row("us", "20250810", "01")) == places[0]


def test_a_partition_has_the_time_that_its_values_name() -> None:
    hour = 3600 * 10**9
    chain = chains(GROUPS, "region", "day", "hour")
    first = chain.time_of(row("eu", "19700102", "05"))
    assert first == 29 * hour
    assert chain.time_of(row("eu", "soon", "05")) is None


@pytest.mark.parametrize(
    ("pattern", "formatter", "partitions", "counted"),
    [
        # Times of days that are not midnight are none of the days.
        ("$day", "yyyyMMdd HH:mm", ["20250809 00:00", "20250809 12:00", "20250810 00:00"], [0, 2]),
        ("$day", "yyyyMMdd HH:mm", ["20250808 01:00", "20250809 00:00"], [1]),
        # The day of the anchor is not one of those behind it.
        ("$day", "yyyyMMdd", ["20250807", "20250808", "20250809"], [2]),
    ],
)
def test_only_whole_days_count_behind_an_anchor(
    pattern: str, formatter: str, partitions: list[str], counted: list[int]
) -> None:
    options = {"partition.timestamp-pattern": pattern, "partition.timestamp-formatter": formatter}
    chain = chains(options, "day")
    anchor = "20250808" if formatter == "yyyyMMdd" else "20250808 00:00"
    wanted = "20250811" if formatter == "yyyyMMdd" else "20250811 00:00"
    (link,) = chain.links([row(wanted)], [row(text) for text in partitions], [row(anchor)]).values()
    assert link == Link(row(anchor), tuple(row(partitions[number]) for number in counted))


@pytest.mark.parametrize(
    ("partitions", "counted"),
    [
        (["20250810 01:00", "20250810 01:30", "20250810 02:00"], [0, 2]),
        (["20250810 00:00", "20250810 00:01"], []),
    ],
)
def test_only_whole_hours_count_behind_an_anchor(partitions: list[str], counted: list[int]) -> None:
    options = {"partition.timestamp-pattern": "$day $at", "partition.timestamp-formatter": "yyyyMMdd HH:mm"}
    chain = chains(options, "day", "at")
    rows = [row(*text.split()) for text in partitions]
    (link,) = chain.links([row("20250811", "00:00")], rows, [row("20250810", "00:00")]).values()
    assert link.changes == tuple(rows[number] for number in counted)


def test_partitions_that_are_not_written_as_paimon_writes_them_do_not_count() -> None:
    """A day without its zeros names the same time, but Paimon looks for other names."""
    options = {"partition.timestamp-pattern": "$day", "partition.timestamp-formatter": "yyyy-M-d"}
    chain = chains(options, "day")
    rows = [row("2025-08-09"), row("2025-8-9")]
    (link,) = chain.links([row("2025-9-1")], rows, [row("2025-08-01")]).values()
    assert link.changes == (row("2025-8-9"),)
    # Nor does the day of the anchor, by another name.
    (link,) = chain.links([row("2025-9-1")], [row("2025-8-8"), row("2025-8-9")], [row("2025-08-08")]).values()
    assert link == Link(row("2025-08-08"), (row("2025-8-9"),))


def test_partitions_that_name_no_time() -> None:
    with pytest.raises(DataError, match=r"names no time: 'soon'.*db\.t"):
        chains(DAYS, "day").links([row("sooner")], [row("soon")], [row("20250801")])
    # Without an anchor nobody asks for the time.
    (link,) = chains(DAYS, "day").links([row("sooner")], [row("soon")], []).values()
    assert link == Link(None, (row("soon"),))


def test_a_formatter_that_cannot_be_read() -> None:
    with pytest.raises(OptionError, match="timestamp-formatter"):
        chains({"partition.timestamp-formatter": "{"}, "day")
