"""Moments as system tables show them: local wall clock."""

import datetime as dt


def local_millis(epoch_millis: int) -> int:
    """An instant as the local wall clock's milliseconds."""
    moment = dt.datetime.fromtimestamp(epoch_millis / 1000).replace(tzinfo=dt.UTC)
    return round(moment.timestamp() * 1000)
