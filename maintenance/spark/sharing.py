"""Share an operation's work over many files among Spark tasks, where there is enough of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from maintenance.metadata.shares import Amount, cut, in_one_batch
from maintenance.spark.tasks import all_done, run_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SparkSource: TypeAlias = "SparkSession | Callable[[], SparkSession] | None"
"""A session; or what gives one, and is asked once there is enough to share; None: this process does all."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True)
class SparkSharing:
    """The `Sharing` of one operation: Spark tasks where there is enough, else one batch in this process.

    Attributes:
        spark: a session; or what gives one, and is asked once there is enough to share; None: this process does all.
        where: names the table, for an error of a task that names no place.
        progress: called with a line about what is shared.
        tasks: how many tasks there were so far.
    """

    spark: SparkSource
    where: str
    progress: Callable[[str], None]
    tasks: int = 0

    def __call__(
        self,
        function: Callable[[Sequence[T]], R],
        items: Sequence[T],
        amount: Amount,
        weights: Sequence[int] | None = None,
    ) -> list[R]:
        total = len(items) if weights is None else sum(weights)
        shares = cut(items, amount, weights)
        session = self.session_for(len(shares), f"{total} {amount.name}", enough=total >= amount.enough)
        if session is None:
            return in_one_batch(function, items, amount)
        return all_done(run_tasks(session, function, shares), self.where)

    def session_for(self, tasks: int, work: str, *, enough: bool) -> "SparkSession | None":
        """The session for some tasks, which are counted; None: this process does them. `work`: what, in words."""
        if self.spark is None or not enough or not tasks:
            return None
        # A session cannot be called; what gives one can.
        self.spark = self.spark() if callable(self.spark) else self.spark
        self.tasks += tasks
        self.progress(f"{work}: shared among {tasks} Spark tasks")
        return self.spark
