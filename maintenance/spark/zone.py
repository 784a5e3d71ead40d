"""The time zone in which a Spark session evaluates what is written without one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SESSION_ZONE = "spark.sql.session.timeZone"
"""Spark's setting."""


def zone_of(spark: "SparkSession | None") -> str | None:
    """The zone of a session; None without one."""
    return None if spark is None else str(spark.conf.get(SESSION_ZONE))


@contextmanager
def spark_in_zone(spark: "SparkSession | None", zone: str | None) -> Iterator[None]:
    """Have a session evaluate in a time zone meanwhile; None: in its own."""
    before = zone_of(spark)
    if spark is None or zone is None or before is None or before == zone:
        yield
        return
    spark.conf.set(SESSION_ZONE, zone)
    try:
        yield
    finally:
        spark.conf.set(SESSION_ZONE, before)
