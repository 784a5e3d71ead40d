"""What the options of a materialized table say, as Flink and Paimon store them."""

from datetime import timedelta

import pytest

from maintenance.errors import OptionError
from maintenance.options.materialized import (
    HANDLER_BYTES,
    HANDLER_DESCRIPTION,
    REFRESH_STATUS,
    THRESHOLD,
    Definition,
    Freshness,
    RefreshMode,
    RefreshStatus,
)

# As Flink 1.20.0 with Paimon 1.3.1 has stored them.
OF_FLINK = {
    "bucket": "-1",
    "materialized-table.definition-query": "SELECT `s`.`ds`\nFROM `lake`.`db`.`src` AS `s`",
    "materialized-table.logical-refresh-mode": "AUTOMATIC",
    "materialized-table.refresh-status": "INITIALIZING",
    "partition.fields.ds.date-formatter": "yyyy-MM-dd",
    "materialized-table.interval-freshness": "1",
    "type": "materialized-table",
    "materialized-table.interval-freshness.time-unit": "HOUR",
    "materialized-table.refresh-mode": "FULL",
}


def test_what_flink_stores_is_read() -> None:
    definition = Definition.of(OF_FLINK, "table db.m")
    assert definition.query.startswith("SELECT `s`.`ds`")
    assert (definition.freshness.interval, definition.freshness.words) == (timedelta(hours=1), "1 hour")
    assert (definition.mode, definition.status) == (RefreshMode.FULL, RefreshStatus.INITIALIZING)
    assert definition.date_formatters == {"ds": "yyyy-MM-dd"}
    assert (definition.dialect, definition.is_ours) == ("flink", False)
    assert definition.rests_because == "its status is INITIALIZING"


def test_another_engines_table_rests_until_it_is_taken_over() -> None:
    running = {**OF_FLINK, REFRESH_STATUS: "ACTIVATED", HANDLER_DESCRIPTION: "job 17", HANDLER_BYTES: "rO0="}
    assert "job 17 refreshes it" in Definition.of(running, "t").rests_because
    ours = {**OF_FLINK, REFRESH_STATUS: "ACTIVATED", HANDLER_DESCRIPTION: "paimon-maintenance"}
    assert Definition.of(ours, "t").rests_because == ""
    assert "paimon-maintenance refreshes it" in Definition.of({**ours, HANDLER_BYTES: "rO0="}, "t").rests_because


@pytest.mark.parametrize(
    ("number", "unit", "fits"),
    [
        *((number, "HOUR", True) for number in ("1", "2", "3", "4", "6", "8", "12")),
        *((number, "MINUTE", True) for number in ("1", "5", "10", "12", "15", "20", "30")),
        ("1", "DAY", True),
        ("2", "DAY", False),
        ("5", "HOUR", False),
        ("24", "HOUR", False),
        ("60", "SECOND", False),
        ("29", "MINUTE", False),
        ("0", "SECOND", False),
    ],
)
def test_which_freshness_flink_can_schedule(number: str, unit: str, fits: bool) -> None:
    assert Freshness(number, unit).fits_a_cron == fits


def test_the_mode_follows_from_the_freshness() -> None:
    threshold = THRESHOLD.of({})
    assert Freshness("29", "MINUTE").mode(threshold) == RefreshMode.CONTINUOUS
    assert Freshness("30", "MINUTE").mode(threshold) == RefreshMode.FULL
    hour = THRESHOLD.of({THRESHOLD.key: "2 h"})
    assert Freshness("1", "HOUR").mode(hour) == RefreshMode.CONTINUOUS


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"type": "table"}, "not a materialized table"),
        ({"materialized-table.definition-query": ""}, "'materialized-table.definition-query' is missing"),
        ({"materialized-table.interval-freshness": "x"}, "not a whole number"),
        ({"materialized-table.interval-freshness.time-unit": "WEEK"}, "not a unit"),
        ({"materialized-table.refresh-mode": "NEVER"}, "'NEVER' is not known"),
        ({"materialized-table.refresh-status": "GONE"}, "'GONE' is not known"),
    ],
)
def test_a_broken_definition_says_what_is_wrong(changes: dict[str, str], problem: str) -> None:
    with pytest.raises(OptionError, match=problem):
        Definition.of({**OF_FLINK, **changes}, "table db.m")
    assert Definition.find({**OF_FLINK, **changes}) is None


def test_a_table_without_a_freshness_has_flinks_default() -> None:
    options = {key: value for key, value in OF_FLINK.items() if "interval" not in key}
    assert Definition.of(options, "t").freshness == Freshness("3", "MINUTE")
    full = {**options, "materialized-table.logical-refresh-mode": "FULL"}
    assert Definition.of(full, "t").freshness == Freshness("1", "HOUR")
