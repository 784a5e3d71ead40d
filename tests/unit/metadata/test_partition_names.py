"""Partitions are named by texts: what is shown of one means it again, and what may mean several means none."""

import copy
import pickle
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.errors import DataError
from maintenance.format.rows.binary_row import serialize_row
from maintenance.metadata.partition_names import Exactly, PartitionNames, columns_of, kept
from maintenance.metadata.partition_value import PartitionValue, covering, instants_of_reading
from maintenance.metadata.paths import TablePaths
from maintenance.types.data_type import DataField, parse_type

NULL_NAME = "__DEFAULT_PARTITION__"
SECOND = 10**9
# 02:30 in Berlin, before the clock goes back and after.
TWICE = (1_729_989_000 * SECOND, 1_729_992_600 * SECOND)
SAME_FOLDER: Sequence[Any] = (None, "", " ", "\t", NULL_NAME)


def names(*values: Any, kind: str = "STRING", legacy: bool = True, zone: str = "UTC") -> PartitionNames:
    """Of a table with a partition of each value."""
    field = DataField(0, "p", parse_type(kind))
    paths = TablePaths("/t", partition_fields=(field,), legacy_partition_name=legacy, zone=zone)
    rows = [serialize_row([value], [field.type]) for value in values]
    return PartitionNames(paths, "table db.t", lambda: rows)


def of(named: PartitionNames, value: Any) -> PartitionValue:
    fields = named.paths.partition_fields
    return named.paths.partition(serialize_row([value], [fields[0].type]))


def value_of(named: PartitionNames, text: str | None) -> Any:
    (partition,) = named.chosen([{"p": text}])
    return partition.values_by_name["p"]


@pytest.mark.parametrize(
    "value", [*SAME_FOLDER, "x", "''", "'x'", "'__DEFAULT_PARTITION__'", "NULL", "O'Neil", "a=b/c"]
)
def test_partitions_of_one_folder_are_shown_apart(value: str | None) -> None:
    named = names(value)
    shown = of(named, value)
    assert value_of(named, shown["p"]) == value
    assert named.chosen([shown]) == (shown,)
    assert named.chosen([kept(shown)]) == (shown,), "as a plan keeps it"
    assert named.shown(shown).row == shown.row
    folder = named.paths.folder_texts(shown)["p"]
    assert value_of(named, folder) == value, "the folder's text means the only one that has it"


def test_a_folder_of_several_partitions_names_none() -> None:
    named = names(None, "", " ", NULL_NAME, "x")
    with pytest.raises(DataError) as caught:
        named.chosen([{"p": NULL_NAME}])
    assert caught.value.found == (
        "p = '__DEFAULT_PARTITION__' may mean several partitions: p IS NULL or p = '' or p = ' ' or "
        "p = '''__DEFAULT_PARTITION__'''"
    )
    assert caught.value.where == "table db.t"
    assert caught.value.fix == (
        "Nothing was changed. Name the one that you mean by its value: PARTITION (p = NULL) in SQL, p IS NULL for CALL"
        ", None in Python."
    )
    assert [value_of(named, text) for text in (None, "", " ", "'__DEFAULT_PARTITION__'", "x")] == [
        *(None, "", " ", NULL_NAME, "x")
    ]
    assert named.chosen([{"p": Exactly(NULL_NAME)}]) == (of(named, NULL_NAME),)
    assert named.shown({"p": NULL_NAME}) == of(named, None)
    assert named.values({"p": NULL_NAME}) == of(named, NULL_NAME), "as a literal it is itself"


def test_a_name_of_nothing_that_is_there() -> None:
    assert value_of(names("x"), NULL_NAME) is None
    assert value_of(names("x"), "") == ""
    with pytest.raises(DataError, match="may mean several partitions: p IS NULL or p = '''__DEFAULT_PARTITION__'''"):
        names("x").chosen([{"p": NULL_NAME}], may_be_new=True)
    assert names(1, kind="INT").chosen([{"p": NULL_NAME}], may_be_new=True)[0].values_by_name == {"p": None}


def test_both_instants_of_a_local_time() -> None:
    named = names(*TWICE, kind="TIMESTAMP_LTZ(3)", legacy=False, zone="Europe/Berlin")
    shown = [of(named, nanos)["p"] for nanos in TWICE]
    assert shown == ["2024-10-27 02:30:00.000+02:00", "2024-10-27 02:30:00.000+01:00"]
    assert [value_of(named, text) for text in shown] == [*TWICE]
    with pytest.raises(
        DataError, match=r"p = '2024-10-27 02:30:00.000\+02:00' or p = '2024-10-27 02:30:00.000\+01:00'"
    ):
        named.chosen([{"p": "2024-10-27 02:30:00.000"}])
    with pytest.raises(DataError, match="may mean several"):
        named.values({"p": "2024-10-27 02:30"})
    alone = names(TWICE[1], kind="TIMESTAMP_LTZ(3)", legacy=False, zone="Europe/Berlin")
    assert value_of(alone, "2024-10-27 02:30:00") == TWICE[1], "the only one that there is"
    with pytest.raises(DataError, match="which is not a TIMESTAMP"):
        named.chosen([{"p": "2024-03-31 02:30"}])  # the clock jumps from 2 to 3


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata", "Etc/GMT+5", "Australia/Lord_Howe"])
@pytest.mark.parametrize("legacy", [True, False])
def test_instants_as_folders_and_casts_show_them(zone: str, legacy: bool) -> None:
    hours = [1_704_067_200 * SECOND + hour * 3600 * SECOND for hour in range(24)]
    named = names(*hours, kind="TIMESTAMP_LTZ(6)", legacy=legacy, zone=zone)
    casts = names(*hours, kind="TIMESTAMP_LTZ(6)", legacy=False, zone=zone)
    for nanos in hours:
        assert value_of(named, of(named, nanos)["p"]) == nanos
        assert value_of(named, of(casts, nanos)["p"]) == nanos, "as $partitions shows it"
    assert value_of(named, "2024-01-01 05:00:00Z") == hours[5]


def test_readings_of_a_clock() -> None:
    noon = 1_704_110_400 * SECOND
    assert instants_of_reading(noon + 5, "America/New_York") == (noon + 5 * 3600 * SECOND + 5,)
    assert instants_of_reading(1_711_852_200 * SECOND, "Europe/Berlin") == ()
    assert len(instants_of_reading(1_729_996_200 * SECOND, "Europe/Berlin")) == 2
    beyond = 300_000_000_000 * SECOND
    assert instants_of_reading(beyond, "Europe/Berlin") == (beyond,)


@pytest.mark.parametrize(
    ("kind", "value", "texts", "legacy"),
    [
        ("INT", -5, ("-5", " -5 "), True),
        ("BIGINT", 2**63 - 1, (str(2**63 - 1),), True),
        ("BOOLEAN", True, ("true", "TRUE"), True),
        ("DATE", 19723, ("19723", "2024-01-01"), True),
        ("DATE", 19723, ("2024-01-01",), False),
        ("DATE", -1, ("-1", "1969-12-31"), True),
        ("TIME(3)", 36_000_500, ("36000500", "10:00:00.5"), True),
        ("TIME(3)", 36_000_500, ("10:00:00.500",), False),
        ("DECIMAL(5, 2)", Decimal("1.50"), ("1.50", "1.5", "01.500"), True),
        ("FLOAT", 0.10000000149011612, ("0.1",), True),
        ("DOUBLE", -0.0, ("-0.0",), True),
        ("DOUBLE", 1e100, ("1.0E100", "1e100"), True),
        ("TIMESTAMP(6)", 1_704_103_200 * SECOND, ("2024-01-01T10:00", "2024-01-01 10:00:00.000000"), True),
        ("BYTES", b"a", ("a", "X'61'", "x'61'"), False),
        ("BYTES", b"\xff", ("X'FF'", "\ufffd"), False),
    ],
)
def test_texts_of_each_type(kind: str, value: Any, texts: Sequence[str], legacy: bool) -> None:
    named = names(value, kind=kind, legacy=legacy)
    for text in (of(named, value)["p"], named.paths.folder_texts(of(named, value))["p"], *texts):
        assert repr(value_of(named, text)) == repr(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [("INT", "7.9"), ("INT", "1_0"), ("INT", "x"), ("TINYINT", "300"), ("DECIMAL(5, 2)", "1.555"), ("DOUBLE", "1_0"),
     ("DATE", "2024-02-30"), ("TIMESTAMP(3)", "2024-01-01 00:00:00.0001"), ("BOOLEAN", "maybe"), ("TIME", "25:00")],
)  # fmt: skip
def test_a_text_that_is_no_value(kind: str, text: str) -> None:
    with pytest.raises(DataError, match=f"partition column p = '{text}', which is not a "):
        names(kind=kind).chosen([{"p": text}])


@given(
    st.lists(st.none() | st.text(max_size=4) | st.sampled_from([NULL_NAME, f"'{NULL_NAME}'", "''", "' '"]), min_size=1)
)
def test_what_is_shown_means_itself_whatever_else_there_is(values: list[str | None]) -> None:
    named = names(*dict.fromkeys(values))
    for value in values:
        partition = of(named, value)
        assert named.shown(dict(partition)).values_by_name == {"p": value}
        assert named.chosen([partition, kept(partition)]) == (partition,)
    assert len({of(named, value)["p"] for value in values}) == len(set(values)), "no two are shown alike"


def test_some_columns_of_several() -> None:
    fields = tuple(
        DataField(i, name, parse_type(kind)) for i, (name, kind) in enumerate((("a", "INT"), ("p", "STRING")))
    )
    paths = TablePaths("/t", partition_fields=fields)
    types = [field.type for field in fields]
    rows = [serialize_row(row, types) for row in ((1, None), (1, "x"), (2, ""), (2, None))]
    named = PartitionNames(paths, "table db.t", lambda: rows)
    ones = named.chosen([{"a": "1"}])
    assert list(map(covering(fields, ones), rows)) == [True, True, False, False]
    (null,) = named.chosen([{"p": NULL_NAME, "a": "1"}])
    assert null.values_by_name == {"a": 1, "p": None}, "beside 1 there is one such partition"
    with pytest.raises(DataError, match="partitions: a = '2', p = '' or a = '2', p IS NULL"):
        named.chosen([{"a": "2", "p": NULL_NAME}])
    with pytest.raises(DataError, match="may mean several"):
        named.chosen([{"p": NULL_NAME}])
    for wrong in ({}, {"b": "1"}, {"a": "1", "b": "1"}):
        with pytest.raises(DataError, match="is not a partition"):
            named.chosen([wrong])
    assert columns_of(kept(null)) == columns_of(null) == {"a", "p"}


def test_a_partition_is_a_value() -> None:
    named = names(None)
    null, empty = of(named, None), of(named, "")
    assert null == {"p": NULL_NAME}
    assert null != empty
    assert empty == {"p": "''"}
    assert len({null, of(named, None), empty}) == 2
    assert pickle.loads(pickle.dumps(empty)) == copy.deepcopy(empty) == empty
    assert str(empty) == "p=''"
    assert repr(empty) == "PartitionValue(p='')"
    with pytest.raises(KeyError):
        empty["q"]
