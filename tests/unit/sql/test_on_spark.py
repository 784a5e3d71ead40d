"""What Spark's DataFrames say, without a Spark."""

from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from maintenance.sql.query.on_spark import declared_columns
from maintenance.types.data_type import parse_type


def test_columns_of_frames_say_how_long_their_texts_are() -> None:
    text = StringType()
    schema = StructType(
        [
            StructField("a", text, True, {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}),
            StructField("b", text, False, {"comment": "c", "__CHAR_VARCHAR_TYPE_STRING": "varchar(7)"}),
            StructField("c", text),
            StructField("d", IntegerType()),
        ]
    )
    assert declared_columns(schema) == [parse_type("CHAR(5)"), parse_type("VARCHAR(7)"), None, None]
