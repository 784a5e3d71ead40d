"""The examples by which Spark documents its functions, beside Spark: the same value, or refused in our words."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from maintenance.sql import Session
from tests.beside_spark import asked, asked_spark, free, is_foreign, short, values
from tests.cases import wants_all

# Their values are of the moment, the machine or chance, or no two engines have the same sketch.
_OF_NO_ONE_VALUE = re.compile(
    r"rand|uuid|shuffle|sample|current_|curdate|now\(|localtime|unix_timestamp\(\)|user\(|version\(|catalog|database"
    r"|schema\(|input_file|monotonically|partition_id|java_method|reflect|sketch|theta|hll|kll|collation|aes_encrypt"
    r"|avro|protobuf|sql_keywords|raise_error|assert_true|http|_udf",
    re.IGNORECASE,
)
_OF_ANY_ORDER = re.compile(r"collect_set|DISTINCT|mode\(|collect_union", re.IGNORECASE)
# Of how many functions `make test` asks for one; `make test-nightly` asks for all.
_ONE_OF = 12


def test_documented_examples_give_sparks_value_or_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    session = Session({"warehouse": str(tmp_path)}, dialect="spark")
    try:
        found = [(query, *_verdict(spark, session, query)) for query in dict.fromkeys(_documented(spark))]
    finally:
        if zone is not None:
            spark.conf.set("spark.sql.session.timeZone", zone)
    assert [each for each in found if each[1] in ("wrong", "foreign")] == []
    tally = Counter(each[1] for each in found)
    if wants_all():
        assert tally["equal"] >= 750
    assert tally["equal"] > 0.6 * len(found)
    assert tally["laxer"] <= 5, [each for each in found if each[1] == "laxer"]


def _documented(spark: SparkSession) -> Iterator[str]:
    """The queries of a part of the functions, or of all."""
    names = sorted(row[0] for row in spark.sql("SHOW FUNCTIONS").collect())
    for name in names if wants_all() else names[::_ONE_OF]:
        try:
            lines = spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect()
        except PySparkException:
            continue  # an operator without a text
        text = "\n".join(row[0] for row in lines)
        yield from (
            query for query in re.findall(r"> (SELECT .*?);", text, re.DOTALL) if not _OF_NO_ONE_VALUE.search(query)
        )


def _verdict(spark: SparkSession, session: Session, query: str) -> tuple[str, str]:
    theirs, ours = _named(asked_spark(spark, query)), _named(asked(session, query))
    shown = f"Spark: {short(theirs)}; here: {short(ours)}"
    if isinstance(ours, Exception):
        if is_foreign(ours):
            return "foreign", shown
        return ("both refuse" if isinstance(theirs, Exception) else "refused"), shown
    if isinstance(theirs, ValueError):
        return "not compared", shown
    if isinstance(theirs, Exception):
        return "laxer", shown
    if any(
        pa.types.is_struct(kind) and [part.name for part in kind] == ["value", "metadata"]
        for kind in theirs.schema.types
    ):
        return "not compared", "the bytes of a VARIANT, which has several forms"
    both = [sorted(zip(*map(values, each.columns), strict=True), key=repr) for each in (theirs, ours)]
    if _OF_ANY_ORDER.search(query):
        both = [[tuple(map(free, row)) for row in rows] for rows in both]
    return "equal" if repr(both[0]) == repr(both[1]) else "wrong", shown


def _named(answer: pa.Table | Exception) -> pa.Table | Exception:
    """With a column `x`, which is what is shown of it."""
    if isinstance(answer, Exception):
        return answer
    return answer.rename_columns(["x", *(f"x{i}" for i in range(1, answer.num_columns))])
