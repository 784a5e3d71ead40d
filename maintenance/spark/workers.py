"""Whether the Python workers of a session can run this engine's tasks.

A DataFrame is evaluated later, by its user, who would get Spark's account of an import that failed somewhere. So what
gives one out asks the workers first, once for each session.
"""

from typing import TYPE_CHECKING
from weakref import WeakSet

from maintenance.spark.tasks import all_done, run_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ABLE: "WeakSet[SparkSession]" = WeakSet()


def check_workers(spark: "SparkSession") -> None:
    """Raises: OptionError: their Python is another one, or lacks packages."""
    if spark not in _ABLE:
        all_done(run_tasks(spark, str, [0]), "the Spark session")
        _ABLE.add(spark)
