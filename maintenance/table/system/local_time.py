"""Moments as system tables show them: local wall clock."""

import datetime as dt


def epoch_millis(local: dt.datetime) -> int:
    """The instant at which the local wall clock shows a time, milliseconds since 1970-01-01 UTC."""
    return round(local.timestamp() * 1000)


def local_millis(epoch_millis: int) -> int:
    """An instant as the local wall clock's milliseconds."""
    moment = dt.datetime.fromtimestamp(epoch_millis / 1000).replace(tzinfo=dt.UTC)
    return round(moment.timestamp() * 1000)


def instant_of(local_millis: int) -> int:
    """The instant at which the local wall clock shows these milliseconds, milliseconds since 1970-01-01 UTC."""
    shown = dt.datetime.fromtimestamp(local_millis / 1000, dt.UTC).replace(tzinfo=None)
    return epoch_millis(shown)
