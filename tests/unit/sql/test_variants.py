"""VARIANT in SQL without Spark."""

from pathlib import Path

import pytest

from maintenance.errors import DataError, PaimonError, SqlError
from maintenance.sql import Session
from tests.answers import rows

DOCUMENTS = (
    """(1, parse_json('{"a": 1, "b": {"c d": ["x", 2.75, null]}, "when": "2024-02-29"}'))""",
    "(2, parse_json('[10, true]'))",
    "(3, NULL)",
    "(4, parse_json('null'))",
)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path)})
    session.sql("CREATE DATABASE db")
    session.sql("CREATE TABLE db.t (id INT NOT NULL, v VARIANT) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    session.sql(f"INSERT INTO db.t VALUES {', '.join(DOCUMENTS)}")
    return session


def column(session: Session, expression: str, rest: str = "ORDER BY id") -> list[object]:
    return session.sql(f"SELECT {expression} AS x FROM db.t {rest}").to_arrow().column("x").to_pylist()


def test_variants_are_created_written_and_selected(session: Session) -> None:
    first = '{"a":1,"b":{"c d":["x",2.75,null]},"when":"2024-02-29"}'
    assert column(session, "v") == [first, "[10,true]", None, "null"]
    shown = session.sql("SHOW CREATE TABLE db.t").to_arrow().to_pylist()
    assert "VARIANT" in str(shown)


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("variant_get(v, '$.a', 'int')", [1, None, None, None]),
        ("variant_get(v, '$.b[\"c d\"][0]', 'string')", ["x", None, None, None]),
        ("variant_get(v, '$.b[\\'c d\\'][1]', 'int')", [2, None, None, None]),
        ("variant_get(v, '$.b', 'string')", ['{"c d":["x",2.75,null]}', None, None, None]),
        ("CAST(variant_get(v, '$.when', 'date') AS STRING)", ["2024-02-29", None, None, None]),
        ("variant_get(v, '$[1]', 'boolean')", [None, True, None, None]),
        ("variant_get(v, '$.b', 'variant')", ['{"c d":["x",2.75,null]}', None, None, None]),
        ("try_variant_get(v, '$', 'int')", [None, None, None, None]),
        ("is_variant_null(v)", [False, False, False, True]),
        ("to_json(v)", None),
        ("CAST(v AS STRING)", ['{"a":1,"b":{"c d":["x",2.75,null]},"when":"2024-02-29"}', "[10,true]", None, None]),
    ],
)
def test_functions_and_casts_take_values_out_of_variants(
    session: Session, expression: str, found: list[object] | None
) -> None:
    assert column(session, expression) == (column(session, "v") if found is None else found)


def test_rows_are_found_and_changed_by_their_variants(session: Session) -> None:
    assert column(session, "id", "WHERE variant_get(v, '$[0]', 'int') >= 10") == [2]
    session.sql("UPDATE db.t SET v = parse_json('{}') WHERE id = 2")
    session.sql("INSERT INTO db.t SELECT id + 10, v FROM db.t WHERE id < 3")
    assert column(session, "v", "WHERE id IN (2, 11, 12) ORDER BY id")[::2] == ["{}", "{}"]
    session.sql("DELETE FROM db.t WHERE id = 1")
    assert column(session, "id") == [2, 3, 4, 11, 12]


def test_single_values_become_variants(session: Session) -> None:
    made = "(SELECT CAST(id AS VARIANT) AS i, CAST(id * 0.50 AS VARIANT) AS d, CAST(NULL AS VARIANT) AS n FROM db.t)"
    query = f"SELECT variant_get(i, '$', 'int') AS i, to_json(d) AS d, n FROM {made} ORDER BY i LIMIT 2"
    found = session.sql(query).to_arrow().to_pylist()
    assert found == [{"i": 1, "d": "0.5", "n": None}, {"i": 2, "d": "1", "n": None}]
    with pytest.raises(SqlError, match="MAP<STRING, INT> to VARIANT is not supported"):
        session.sql("SELECT CAST(map('a', 1) AS VARIANT)")


def test_arrays_of_values_become_variants(session: Session) -> None:
    made = "CAST(array(id, NULL) AS VARIANT), CAST(array(array('a'), NULL) AS VARIANT), CAST(array(1.5) AS VARIANT)"
    assert rows(session, f"SELECT {made} FROM db.t WHERE id = 2") == [("[2,null]", '[["a"],null]', "[1.5]")]
    found = session.sql(
        "SELECT variant_get(CAST(array(id, id + 1) AS VARIANT), '$[1]', 'int') AS x FROM db.t ORDER BY id"
    )
    assert found.to_arrow().column("x").to_pylist() == [2, 3, 4, 5]
    assert rows(session, "SELECT CAST(CAST(NULL AS ARRAY<INT>) AS VARIANT)") == [(None,)]


@pytest.mark.parametrize(
    ("text", "path", "kind", "found"),
    [
        ('{"a": [1, 2.9, null]}', "$.a", "array<int>", [1, 2, None]),
        ("[[1], [], null]", "$", "array<array<string>>", [["1"], [], None]),
        ('{"x": [1], "y": null}', "$", "map<string, array<int>>", [("x", [1]), ("y", None)]),
        ('{"b": "2024-02-29", "a": {"c": 1}}', "$", "struct<a: struct<c: int, d: int>, b: string>",
         {"a": {"c": 1, "d": None}, "b": "2024-02-29"}),
        ("null", "$", "array<int>", None),
        ("[1]", "$.a", "array<int>", None),
    ],
)  # fmt: skip
def test_arrays_and_objects_are_taken_out_of_variants(
    session: Session, text: str, path: str, kind: str, found: object
) -> None:
    for function in ("variant_get", "try_variant_get"):
        assert rows(session, f"SELECT {function}(parse_json('{text}'), '{path}', '{kind}')") == [(found,)]


def test_other_variants_are_no_arrays_and_no_objects(session: Session) -> None:
    assert column(session, "try_variant_get(v, '$', 'array<boolean>')") == [None, [True, True], None, None]
    assert column(session, "try_cast(v AS STRUCT<a: INT>)") == [{"a": 1}, None, None, None]
    for kind, problem in (("array<int>", "not an array"), ("struct<a: int>", "not an object")):
        with pytest.raises(SqlError, match=f"a variant is {problem}"):
            column(session, f"variant_get(v, '$', '{kind}')")
    assert column(session, "explode(variant_get(v, '$.b[\"c d\"]', 'array<variant>'))", "WHERE id = 1") == [
        '"x"', "2.75", "null",
    ]  # fmt: skip


def test_text_behind_a_value_of_json_is_not_looked_at(session: Session) -> None:
    texts = "VALUES ('[[[]]]]'), ('{\"a\": 1} x'), ('1 2'), ('null}'), ('1x'), ('truex'), (NULL) AS t(x)"
    found = session.sql(f"SELECT try_parse_json(x) AS v FROM {texts}").to_arrow()
    assert found.column("v").to_pylist() == ["[[[]]]", '{"a":1}', "1", "null", None, None, None]
    assert session.sql("SELECT to_json(parse_json('[1] 2')) AS v").to_arrow().to_pylist() == [{"v": "[1]"}]


def test_texts_that_are_not_json(session: Session) -> None:
    found = session.sql("SELECT try_parse_json(x) AS v FROM VALUES ('[1]'), ('{'), (NULL), ('1') AS t(x)").to_arrow()
    assert found.column("v").to_pylist() == ["[1]", None, None, "1"]
    with pytest.raises(PaimonError, match="is not JSON"):
        session.sql("SELECT parse_json('{')").to_arrow()


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("variant_get(v, 'a', 'int')", "'a' is not a path"),
        ("variant_get(v, CAST(id AS STRING), 'int')", "takes a variant, a path"),
        ("variant_get(v, '$', 'map<int, int>')", "MAP<INT, INT>"),
    ],
)
def test_what_variant_get_refuses(session: Session, expression: str, problem: str) -> None:
    with pytest.raises((SqlError, DataError), match=problem):
        column(session, expression)


def test_a_value_of_another_type_is_an_error(session: Session) -> None:
    with pytest.raises(SqlError):
        column(session, "variant_get(v, '$.b', 'int')")


def test_flink_parses_json_into_variants(tmp_path: Path) -> None:
    session = Session({"warehouse": str(tmp_path)}, dialect="flink")
    session.sql("CREATE TABLE t (id INT, v VARIANT)")
    session.sql("INSERT INTO t VALUES (1, PARSE_JSON('{\"a\": [1]}')), (2, TRY_PARSE_JSON('{'))")
    found = session.sql("SELECT * FROM t ORDER BY id").to_arrow().to_pylist()
    assert found == [{"id": 1, "v": '{"a":[1]}'}, {"id": 2, "v": None}]
    twice = 'x FROM (VALUES (\'{"b": {"a": 1, "c": 2, "a": [3]}, "a": 4}\')) AS t (j)'
    last = [{"x": '{"a":4,"b":{"a":[3],"c":2}}'}]
    for function in ("PARSE_JSON", "TRY_PARSE_JSON"):
        assert session.sql(f"SELECT {function}(j, TRUE) AS {twice}").to_arrow().to_pylist() == last
    assert rows(session, f"SELECT TRY_PARSE_JSON(j, FALSE) AS {twice}") == [(None,)]
    with pytest.raises(SqlError, match="a name is twice in an object"):
        session.sql(f"SELECT PARSE_JSON(j) AS {twice}")
