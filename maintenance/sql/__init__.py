"""SQL over Paimon tables: statements of Flink's and of Spark's dialect, with or without Spark.

session = Session({"warehouse": "/data/lake"}, dialect="flink")
session.sql("SELECT city, COUNT(*) FROM trips GROUP BY city").to_arrow()
"""

from maintenance.errors import SqlError
from maintenance.sql.result import Result
from maintenance.sql.session import Session

__all__ = ["Result", "Session", "SqlError"]
