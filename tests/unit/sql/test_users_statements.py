"""Statements as users of Spark and Flink write them about tables of Paimon, each with what it has to give.

A line is a statement and its rows, `None` = it only has to run, or a part of its error.
"""

from datetime import time
from pathlib import Path
from typing import Any, Literal

import pytest

from maintenance.errors import SqlError
from maintenance.sql import Session

Line = tuple[str, list[tuple[Any, ...]] | str | None]

SPARKS_ROWS = (
    "CREATE TABLE s (id INT, v STRUCT<a: STRING, b: INT>, l ARRAY<STRUCT<a: STRING>>, m MAP<INT, STRUCT<a: INT>>)"
)
FLINKS_ROWS = (
    "CREATE TABLE t (id INT, c ARRAY<MAP<INT, ROW<f1 INT, f2 STRING>>>, ts TIMESTAMP(3), r ROW<a INT NOT NULL>)"
)
MERGE = """MERGE INTO t USING s ON t.a = s.a WHEN MATCHED AND t.a = 5 THEN UPDATE SET b = s.b + t.b
WHEN MATCHED AND s.c > 'c2' THEN UPDATE SET * WHEN MATCHED THEN DELETE
WHEN NOT MATCHED AND c > 'c9' THEN INSERT (a, b, c) VALUES (a, b * 2, c)
WHEN NOT MATCHED BY SOURCE AND b = 7 THEN UPDATE SET c = concat(c, '!')"""
INDEXED = """CREATE TABLE t (id INT, s STRING)
TBLPROPERTIES ('file-index.bloom-filter.columns' = 'id', 'file-index.bitmap.columns' = 'id,s',
'file-index.in-manifest-threshold' = '1 mb')"""
INDEXES = """SELECT column_name, index_type, storage_type, index_file_path IS NULL AS o, record_count, is_empty
FROM t$file_indexes ORDER BY record_count, column_name, index_type"""
SORTED = """CALL sys.compact_manifest(`table` => 'default.t', manifest_sort_enabled => true,
manifest_sort_partition_field => 'dt', manifest_sort_max_rewrite_size => '1 gb')"""
SPARK: dict[str, list[Line]] = {
    "a LATERAL VIEW whose columns alone have names": [
        ("CREATE TABLE t (id INT, a ARRAY<INT>, m MAP<STRING, INT>)", None),
        ("INSERT INTO t VALUES (1, array(7, 8), map('x', 1)), (2, NULL, map('y', 2))", None),
        ("SELECT id, x FROM t LATERAL VIEW explode(a) AS x ORDER BY x", [(1, 7), (1, 8)]),
        ("SELECT id, k, v, x FROM t LATERAL VIEW explode(m) AS k, v LATERAL VIEW OUTER explode(a) AS x ORDER BY id, x",
         [(1, "x", 1, 7), (1, "x", 1, 8), (2, "y", 2, None)]),
        ("CREATE TABLE c AS SELECT * FROM t LATERAL VIEW explode(a) AS x WHERE x > 7", None),
        ("SELECT id, x FROM c", [(1, 8)]),
    ],
    "a function that gives rows stands in the place of a table": [
        ("SELECT * FROM explode(array(1, 2))", [(1,), (2,)]),
        ("SELECT k FROM posexplode(array('a', 'b')) AS e(p, k) WHERE p = 1", [("b",)]),
        ("CREATE TABLE c AS SELECT e.* FROM stack(2, 1, 'a', 2, 'b') AS e(n, s)", None),
        ("SELECT n, s, col FROM c JOIN explode(array(2, 3)) ON n = col", [(2, "b", 2)]),
        ("SELECT * FROM explode(1)", "EXPLODE does not take (INT)"),
    ],
    "a star stands for the fields of a row": [
        ("CREATE TABLE n (id INT, r STRUCT<x: INT, y: STRING, q: STRUCT<z: INT>>)", None),
        ("INSERT INTO n VALUES (1, struct(1, 'y', struct(5))), (2, NULL)", None),
        ("SELECT r.* FROM n ORDER BY x", [(None, None, None), (1, "y", {"z": 5})]),
        ("SELECT n.r.*, id FROM n WHERE r.x = 1", [(1, "y", {"z": 5}, 1)]),
        ("SELECT a.r.q.* FROM n AS a WHERE id = 1", [(5,)]),
        ("SELECT s.x + 1 AS k, s.y FROM (SELECT r.* FROM n) AS s WHERE s.x = 1", [(2, "y")]),
        ("SELECT r.* FROM n WHERE id = 1 UNION ALL SELECT 2, 'w', NULL", [(1, "y", {"z": 5}), (2, "w", None)]),
        ("CREATE TABLE c AS SELECT id, n.r.* FROM n", None),
        ("SELECT sum(x) AS x FROM c", [(1,)]),
        ("SELECT id.* FROM n", "INT has no fields"),
        ("SELECT r.* EXCEPT (y), __paimon_bucket AS b FROM n WHERE id = 1", [(1, {"z": 5}, 0)]),
        ("SELECT N.*, __paimon_bucket AS b FROM n WHERE id = 2", [(2, None, 0)]),
    ],
    "columns that two tables share, and joins in parentheses": [
        ("CREATE TABLE l (s STRING, id INT)", None),
        ("CREATE TABLE r (v INT, id BIGINT)", None),
        ("CREATE TABLE w (id INT, x INT)", None),
        ("INSERT INTO l VALUES ('a', 1), ('b', 2)", None),
        ("INSERT INTO r VALUES (10, 1), (40, 4)", None),
        ("INSERT INTO w VALUES (1, 7)", None),
        ("SELECT * FROM l JOIN r USING (id)", [(1, "a", 10)]),
        ("SELECT * FROM l NATURAL JOIN r JOIN w USING (id)", [(1, "a", 10, 7)]),
        ("SELECT l.*, v FROM l JOIN r USING (id)", [(1, "a", 10)]),
        ("SELECT r.*, l.* EXCEPT (id) FROM l FULL JOIN r USING (id) WHERE v = 40", [(4, 40, None)]),
        ("SELECT * FROM l RIGHT JOIN r USING (id) ORDER BY v", [(1, "a", 10), (4, None, 40)]),
        ("SELECT * FROM l FULL JOIN r USING (id) ORDER BY id", [(1, "a", 10), (2, "b", None), (4, None, 40)]),
        ("SELECT * FROM l JOIN r USING (id) UNION ALL SELECT 5, 'z', 50", [(1, "a", 10), (5, "z", 50)]),
        ("CREATE TABLE j AS SELECT * FROM l LEFT JOIN r USING (id)", None),
        ("INSERT INTO j SELECT * FROM l JOIN r USING (id)", None),
        ("SELECT id, s, v FROM j ORDER BY id, v", [(1, "a", 10), (1, "a", 10), (2, "b", None)]),
        ("SELECT r.v, l.s FROM (l JOIN r ON l.id = r.id)", [(10, "a")]),
        ("SELECT w.x, r.v FROM w JOIN (l JOIN r ON l.id = r.id) ON w.id = l.id", [(7, 10)]),
        ("SELECT w.x, s, v FROM w RIGHT JOIN (l LEFT JOIN r USING (id)) ON w.id = l.id WHERE v IS NULL",
         [(None, "b", None)]),
        ("SELECT x FROM ((l JOIN r USING (id)) JOIN w USING (id))", [(7,)]),
        ("CREATE TABLE k AS SELECT * FROM l LEFT SEMI JOIN r ON l.id = r.id", None),
        ("SELECT * FROM k", [("a", 1)]),
        ("SELECT * FROM l LEFT ANTI JOIN r USING (id)", [(2, "b")]),
        ("SELECT * EXCEPT (s) FROM l JOIN r USING (id)", [(1, 10)]),
    ],
    "the WITH of a query stands before the INSERT": [
        ("CREATE TABLE t (id INT, v INT, p STRING) PARTITIONED BY (p)", None),
        ("WITH x AS (SELECT 1 AS id) INSERT INTO t SELECT id, id + 1, 'a' FROM x", None),
        ("WITH x AS (SELECT 2 AS id), y AS (SELECT id FROM x) INSERT INTO t (p, id) SELECT 'b', id FROM y", None),
        ("WITH x AS (SELECT 3 AS v) INSERT OVERWRITE TABLE t PARTITION (p = 'a') SELECT v, v FROM x", None),
        ("WITH x AS (SELECT 4 AS id) INSERT INTO t BY NAME WITH y AS (SELECT id FROM x) SELECT id, 'c' p FROM y", None),
        ("SELECT * FROM t ORDER BY id", [(2, None, "b"), (3, 3, "a"), (4, None, "c")]),
        ("WITH x AS (SELECT 1 AS id) INSERT INTO t SELECT ids, 1, 'a' FROM x", "column 'ids' does not exist"),
    ],
    "fields of rows are altered and updated": [
        (SPARKS_ROWS, None),
        ("INSERT INTO s VALUES (1, struct('x', 2), array(struct('y')), map(1, struct(4))), (2,NULL,NULL,NULL)", None),
        ("ALTER TABLE s ADD COLUMN v.c STRING", None),
        ("ALTER TABLE s ADD COLUMN l.element.c DOUBLE", None),
        ("ALTER TABLE s RENAME COLUMN m.value.a TO n", None),
        ("ALTER TABLE s ALTER COLUMN m.value.n TYPE BIGINT", None),
        ("ALTER TABLE s DROP COLUMN v.b", None),
        ("UPDATE s SET v.c = concat(v.a, '!') WHERE v.a = 'x'", None),
        ("UPDATE s SET s.v.A = 'q', v.c = upper(s.v.c) WHERE id IN (1, 2)", None),
        ("SELECT id, v, m FROM s ORDER BY id",
         [(1, {"a": "q", "c": "X!"}, [(1, {"n": 4})]), (2, {"a": "q", "c": None}, None)]),
        ("UPDATE s SET v.d = 'w'", "ROW<`a` STRING, `c` STRING> has no field 'd' to assign"),
        ("UPDATE s SET v.a = 'w', v = NULL", "'v' is assigned twice"),
        ("UPDATE s SET id.a = 1", "INT has no field 'a' to assign"),
        ("UPDATE s SET nothing.a = 1", "column 'a' does not exist"),
    ],
    "a merge names columns of one side without a table": [
        ("CREATE TABLE t (a INT, b INT, c STRING) TBLPROPERTIES ('primary-key' = 'a', 'bucket' = '1')", None),
        ("CREATE TABLE s (a INT, b INT, c STRING)", None),
        ("INSERT INTO t VALUES (1, 1, 'c1'), (5, 5, 'c5'), (7, 7, 'z')", None),
        ("INSERT INTO s VALUES (1, 10, 'c1'), (5, 50, 'c0'), (9, 90, 'c99'), (8, 80, 'b')", None),
        (MERGE, None),
        ("SELECT * FROM t ORDER BY a", [(5, 55, "c5"), (7, 7, "z!"), (9, 180, "c99")]),
        ("CREATE TABLE n (a INT, r STRUCT<x: INT, y: INT>)", None),
        ("INSERT INTO n VALUES (1, struct(1, 2))", None),
        ("MERGE INTO n USING s ON n.a = s.a WHEN MATCHED THEN UPDATE SET n.r.x = s.b + n.r.y", None),
        ("SELECT r FROM n", [({"x": 12, "y": 2},)]),
    ],
    "columns that are not there need not be dropped": [
        ("CREATE TABLE t (id INT, a INT, v STRUCT<x: INT, y: INT>)", None),
        ("ALTER TABLE t DROP COLUMN IF EXISTS none", None),
        ("ALTER TABLE t DROP COLUMNS IF EXISTS (none, A, v.Y, v.z)", None),
        ("SHOW COLUMNS IN t", [("id",), ("v",)]),
        ("INSERT INTO t VALUES (1, named_struct('x', 2))", None),
        ("SELECT v FROM t", [({"x": 2},)]),
        ("ALTER TABLE t DROP COLUMN none", "no column 'none'"),
    ],
    "names of columns that are changed are found in any case": [
        ("CREATE TABLE t (id INT, a INT, v STRUCT<x: INT, l: ARRAY<STRUCT<y: INT>>>, b INT, B INT)", None),
        ("ALTER TABLE t ALTER COLUMN A TYPE BIGINT", None),
        ("ALTER TABLE t RENAME COLUMN ID TO key", None),
        ("ALTER TABLE t ADD COLUMN V.L.element.Z STRING AFTER Y", None),
        ("ALTER TABLE t DROP COLUMN V.X", None),
        ("ALTER TABLE t ALTER COLUMN v COMMENT 'rows'", None),
        ("ALTER TABLE t ALTER COLUMN KEY AFTER A", None),
        ("ALTER TABLE t DROP COLUMN B", None),
        ("DESCRIBE t", [("a", "bigint", None), ("key", "int", None),
                        ("v", "struct<l:array<struct<y:int,Z:string>>>", "rows"), ("b", "int", None)]),
        ("ALTER TABLE t DROP COLUMN c", "no column 'c'"),
    ],
    "Hive's way to change a column names it twice": [
        ("CREATE TABLE t (id INT, a INT, type INT)", None),
        ("ALTER TABLE t CHANGE COLUMN a a BIGINT COMMENT 'wide' FIRST", None),
        ("ALTER TABLE t CHANGE type type BIGINT", None),
        ("ALTER TABLE t CHANGE COLUMN id COMMENT 'own'", None),
        ("DESCRIBE t", [("a", "bigint", "wide"), ("id", "int", "own"), ("type", "bigint", None)]),
        ("ALTER TABLE t CHANGE COLUMN a b BIGINT", "'b' found where TYPE or COMMENT"),
    ],
    "Spark's words for what is used": [
        ("CREATE DATABASE other", None),
        ("USE SCHEMA other", None),
        ("SHOW CURRENT DATABASE", [("other",)]),
        ("SET CATALOG paimon", None),
        ("USE NAMESPACE default", None),
        ("SHOW CURRENT DATABASE", [("default",)]),
        ("SET CATALOG other", "'other'"),
        ("SET -v", [("engine", "embedded")]),
        ("CLEAR CACHE", "nothing is kept of a table between statements"),
    ],
    "names lead into rows": [
        ("CREATE TABLE t (id INT, v STRUCT<a: STRING, r: STRUCT<x: INT, y: INT>>)", None),
        ("INSERT INTO t VALUES (1, named_struct('a', 'p', 'r', named_struct('x', 1, 'y', 2)))", None),
        ("SELECT v.r.y FROM t", [(2,)]),
        ("SELECT t.v.r.y FROM t WHERE v.r.x = 1", [(2,)]),
        ("SELECT default.t.v.r.y, paimon.default.t.v.a FROM t WHERE default.t.id = 1", [(2, "p")]),
        ("SELECT q.v.r.y AS y FROM t AS q JOIN default.t AS v ON q.v.r.y = v.v.r.y AND v.id = 1", [(2,)]),
        ("SELECT v.r.y FROM (SELECT v FROM t) AS s", [(2,)]),
        ("UPDATE t SET v.r.x = v.r.y + id", None),
        ("SELECT v.r.x, v.r FROM t", [(3, {"x": 3, "y": 2})]),
        ("SELECT other.t.id FROM t", "'other.t' is not in FROM"),
    ],
    "file indexes are listed": [
        (INDEXED, None),
        ("INSERT INTO t VALUES (1, 'a'), (2, 'b')", None),
        ("ALTER TABLE t SET TBLPROPERTIES ('file-index.in-manifest-threshold' = '1 b')", None),
        ("INSERT INTO t VALUES (3, NULL)", None),
        (INDEXES,
         [("id", "bitmap", "FILE", False, 1, False), ("id", "bloom-filter", "FILE", False, 1, False),
          ("s", "bitmap", "FILE", False, 1, False), ("id", "bitmap", "EMBEDDED", True, 2, False),
          ("id", "bloom-filter", "EMBEDDED", True, 2, False), ("s", "bitmap", "EMBEDDED", True, 2, False)]),
        ("SELECT COUNT(*) FROM t$file_indexes WHERE index_container_size_in_bytes > index_size_in_bytes", [(6,)]),
    ],
    "what is refused says why": [
        ("CREATE TABLE t (a INT, b STRING)", None),
        ("SELECT * FROM vector_search('t', 'b', array(1.0f, 2.0f), 5)", "are kept by maintenance here"),
        ("SELECT * FROM full_text_search('t', 'b', 'x', 10)", "are kept by maintenance here"),
        ("SELECT * FROM hybrid_search('t', array(1))", "are kept by maintenance here"),
        ("SELECT sys.path_to_descriptor('file:/x')", "references to blobs"),
        ("CREATE FUNCTION area(w DOUBLE, h DOUBLE) RETURNS DOUBLE RETURN w * h", "functions of users"),
        ("ANALYZE TABLE t PARTITION (dt = '1') COMPUTE STATISTICS", "single partitions"),
        ("CREATE VIEW v AS SELECT 1 AS a", "a view is not possible in a filesystem catalog"),
        ("CALL sys.materialize_deletion_vectors('t')", "by a full compaction"),
        ("CALL sys.copy(source_table => 't', target_table => 't')", "the target is the source"),
    ],
    "branches are tables": [
        ("CREATE TABLE t (a INT, b INT)", None),
        ("INSERT INTO t VALUES (1, 1)", None),
        ("CALL sys.create_branch('default.t', 'dev')", None),
        ("ALTER TABLE `t$branch_dev` SET TBLPROPERTIES ('snapshot.time-retained' = '2 h')", None),
        ("ALTER TABLE `default`.`t$branch_dev` ADD COLUMN c INT", None),
        ("INSERT INTO `t$branch_dev` VALUES (2, 2, 2)", None),
        ("SELECT * FROM `t$branch_dev`", [(2, 2, 2)]),
        ("CALL sys.create_tag(table => 'default.t$branch_dev', tag => 'here')", None),
        ("SELECT tag_name, record_count FROM `t$branch_dev$tags`", [("here", 1)]),
        ("CALL sys.create_branch(table => 'default.t$branch_dev', branch => 'later', tag => 'here')", None),
        ("SELECT branch_name FROM `t$branches` ORDER BY 1", [("dev",), ("later",)]),
        ("TRUNCATE TABLE `t$branch_dev`", None),
        ("CALL sys.fast_forward(table => 'default.t', branch => 'dev')", None),
        ("SELECT * FROM t", []),
    ],
    "tables are looked at and replaced": [
        ("CREATE TABLE t (a INT, dt STRING) PARTITIONED BY (dt)", None),
        ("INSERT INTO t VALUES (1, 'x'), (2, 'y')", None),
        ("SELECT a FROM t WHERE dt = sys.max_pt('t')", [(2,)]),
        ("SHOW TBLPROPERTIES t ('bucket')", []),
        ("SHOW TABLES IN sys", None),
        ("SELECT table_name FROM sys.tables", [("t",)]),
        ("SELECT partition, record_count FROM t$file_key_ranges ORDER BY 1", [("{x}", 1), ("{y}", 1)]),
        ("CREATE TABLE u LIKE t", None),
        ("EXPLAIN EXTENDED SELECT * FROM t", None),
        ("REPLACE TABLE u USING paimon AS SELECT 1 AS a", None),
        ("CREATE OR REPLACE TABLE u (b INT) USING paimon", None),
        ("SELECT * FROM u", []),
        ("CREATE TEMPORARY VIEW v AS SELECT * FROM t", None),
        ("SELECT COUNT(*) FROM v", [(2,)]),
        ("SHOW FUNCTIONS LIKE 'ab*'", [("abs",)]),
        (SORTED, None),
        ("CALL sys.rollback(table => 'default.t', version => 1)", None),
    ],
    "FROM stands before several INSERTs": [
        ("CREATE TABLE u (id INT, s STRING)", None),
        ("CREATE TABLE a (id INT, s STRING)", None),
        ("CREATE TABLE b (s STRING, p INT) PARTITIONED BY (p)", None),
        ("INSERT INTO u VALUES (1, 'x'), (2, 'y')", None),
        ("FROM u INSERT INTO a SELECT * WHERE id > 1 INSERT INTO b PARTITION (p = 5) SELECT s", None),
        ("SELECT * FROM a", [(2, "y")]),
        ("SELECT * FROM b ORDER BY s", [("x", 5), ("y", 5)]),
        ("WITH w AS (SELECT 7 AS n) FROM w, u INSERT OVERWRITE a SELECT n, s LIMIT 1 INSERT INTO a (id) SELECT max(id)",
         None),
        ("SELECT * FROM a ORDER BY id", [(2, None), (7, "x")]),
        ("FROM u INSERT INTO a SELECT * INSERT INTO b SELECT nothing, 1", "column 'nothing' does not exist"),
        ("INSERT OVERWRITE b PARTITION (p = 5) IF NOT EXISTS SELECT 's'", "Spark has no IF NOT EXISTS"),
        ("FROM u SELECT count(*)", [(2,)]),
    ],
    "words of clauses are names where a name is due": [
        ("CREATE TABLE t (outer INT, cross INT, when INT, like STRING)", None),
        ("INSERT INTO t VALUES (1, 2, 3, 'abc')", None),
        ("SELECT outer, cross + when AS sum, t.like FROM t WHERE outer = 1 AND like NOT LIKE 'x%'", [(1, 5, "abc")]),
        ("SELECT CASE WHEN outer > 0 THEN outer ELSE cross END, max(when) FROM t GROUP BY outer, cross", [(1, 3)]),
        ("SELECT using.outer inner FROM t AS using LEFT OUTER JOIN t u ON using.outer = u.when", [(1,)]),
        ("WITH join AS (SELECT outer AS on FROM t) SELECT on FROM join ORDER BY on LIMIT 1", [(1,)]),
    ],
}  # fmt: skip
FLINK: dict[str, list[Line]] = {
    "UNNEST gives places under the name that is given": [
        ("CREATE TABLE p (a ARRAY<STRING>, m MAP<STRING, INT>)", None),
        ("INSERT INTO p VALUES (ARRAY['q', 'w'], MAP['x', 1])", None),
        ("SELECT x.o, x.e FROM p CROSS JOIN UNNEST(a) WITH ORDINALITY AS x (e, o) ORDER BY o", [(1, "q"), (2, "w")]),
        ("SELECT k, v, o FROM p CROSS JOIN UNNEST(m) WITH ORDINALITY AS x (k, v, o)", [("x", 1, 1)]),
    ],
    "columns that two tables share, and joins in parentheses": [
        ("CREATE TABLE l (s STRING, id INT)", None),
        ("CREATE TABLE r (v INT, id BIGINT)", None),
        ("CREATE TABLE w (id INT, x INT)", None),
        ("INSERT INTO l VALUES ('a', 1), ('b', 2)", None),
        ("INSERT INTO r VALUES (10, 1), (40, 4)", None),
        ("INSERT INTO w VALUES (1, 7)", None),
        ("SELECT * FROM l JOIN r USING (id)", [(1, "a", 10)]),
        ("SELECT * FROM l NATURAL JOIN r JOIN w USING (id)", [(1, "a", 10, 7)]),
        ("SELECT * FROM l RIGHT JOIN r USING (id) ORDER BY v", [(1, "a", 10), (4, None, 40)]),
        ("SELECT * FROM l FULL JOIN r USING (id) ORDER BY id", [(1, "a", 10), (2, "b", None), (4, None, 40)]),
        ("SELECT * FROM l JOIN r USING (id) UNION ALL SELECT 5, 'z', 50", [(1, "a", 10), (5, "z", 50)]),
        ("CREATE TABLE j AS SELECT * FROM l LEFT JOIN r USING (id)", None),
        ("INSERT INTO j SELECT * FROM l JOIN r USING (id)", None),
        ("SELECT id, s, v FROM j ORDER BY id, v", [(1, "a", 10), (1, "a", 10), (2, "b", None)]),
        ("SELECT r.v, l.s FROM (l JOIN r ON l.id = r.id)", [(10, "a")]),
        ("SELECT w.x, r.v FROM w JOIN (l JOIN r ON l.id = r.id) ON w.id = l.id", [(7, 10)]),
        ("SELECT w.x, s, v FROM w RIGHT JOIN (l LEFT JOIN r USING (id)) ON w.id = l.id WHERE v IS NULL",
         [(None, "b", None)]),
        ("SELECT x FROM ((l JOIN r USING (id)) JOIN w USING (id))", [(7,)]),
    ],
    "a star stands for the fields of a row": [
        ("CREATE TABLE n (id INT, r ROW<x INT, y STRING, q ROW<z INT>>)", None),
        ("INSERT INTO n VALUES (1, ROW(1, 'y', ROW(5))), (2, CAST(NULL AS ROW<x INT, y STRING, q ROW<z INT>>))", None),
        ("SELECT r.* FROM n ORDER BY x", [(None, None, None), (1, "y", {"z": 5})]),
        ("SELECT n.r.*, id FROM n WHERE r.x = 1", [(1, "y", {"z": 5}, 1)]),
        ("SELECT a.r.q.* FROM n AS a WHERE id = 1", [(5,)]),
        ("SELECT s.x + 1 AS k, s.y FROM (SELECT r.* FROM n) AS s WHERE s.x = 1", [(2, "y")]),
        ("SELECT r.* FROM n WHERE id = 1 UNION ALL SELECT 2, 'w', CAST(NULL AS ROW<z INT>)",
         [(1, "y", {"z": 5}), (2, "w", None)]),
        ("CREATE TABLE c AS SELECT id, n.r.* FROM n", None),
        ("SELECT sum(x) AS x FROM c", [(1,)]),
        ("SELECT id.* FROM n", "INT has no fields"),
    ],
    "nested types are modified by the new type": [
        (FLINKS_ROWS, None),
        ("INSERT INTO t VALUES (1, ARRAY[MAP[1, ROW(7, 'x')]], NULL, ROW(1))", None),
        ("ALTER TABLE t MODIFY c ARRAY<MAP<INT, ROW(f1 BIGINT, f3 DOUBLE)>>", None),
        ("ALTER TABLE t MODIFY r ROW<z INT COMMENT 'new', a BIGINT COMMENT 'old'>", None),
        ("SELECT id, c, r FROM t", [(1, [[(1, {"f1": 7, "f3": None})]], {"z": None, "a": 1})]),
        ("ALTER TABLE t MODIFY r ROW<a BIGINT, z INT>", "the fields of r have other places"),
        ("ALTER TABLE t MODIFY c ARRAY<MAP<BIGINT, ROW(f1 BIGINT)>>", "keys of c.element cannot become BIGINT"),
        ("ALTER TABLE t MODIFY c ARRAY<INT>", "cannot become"),
        ("ALTER TABLE t ADD WATERMARK FOR ts AS ts - INTERVAL '1' HOUR", None),
        ("ALTER TABLE t MODIFY WATERMARK FOR ts AS ts - INTERVAL '2' HOUR", None),
        ("ALTER TABLE t DROP WATERMARK", None),
        ("ALTER TABLE t ADD (x INT FIRST, y STRING AFTER x)", None),
        ("ALTER TABLE t MODIFY (x BIGINT COMMENT 'c', y STRING AFTER id)", None),
        ("ALTER TABLE t DROP (x, y)", None),
    ],
    "partitions are dropped": [
        ("CREATE TABLE p (a INT, id INT, name STRING) PARTITIONED BY (id, name)", None),
        ("INSERT INTO p VALUES (1, 1, 'n'), (2, 2, 'n'), (3, 3, 'n'), (4, 4, 'n'), (5, 5, 'n')", None),
        ("ALTER TABLE p DROP PARTITION (`id` = 1), PARTITION (`id` = 2, `name` = 'n')", None),
        ("CALL sys.drop_partition('default.p', 'id=3', 'id=4,name=n')", None),
        ("SELECT a FROM p", [(5,)]),
        ("CALL sys.create_tag('default.p', 'old')", None),
        ("CALL sys.rename_tag(`table` => 'default.p', tagName => 'old', targetTagName => 'new')", None),
        ("SELECT tag_name FROM p$tags", [("new",)]),
        ("CALL sys.replace_tag('default.p', 'new', 'x')", "a whole number is expected"),
    ],
    "a row of VALUES may begin with ROW": [
        ("VALUES ROW(1, 'a'), ROW(2, 'b')", [(1, "a"), (2, "b")]),
        ("SELECT y FROM (VALUES ROW(1, 'a'), (2, 'b')) AS t (x, y)", [("a",), ("b",)]),
        ("CREATE TABLE t (id INT, r ROW<x INT, y STRING>)", None),
        ("INSERT INTO t VALUES ROW(1, ROW(2, 'b')), (2, ROW(3, 'c'))", None),
        ("SELECT * FROM t", [(1, {"x": 2, "y": "b"}), (2, {"x": 3, "y": "c"})]),
    ],
    "the WHERE of a procedure takes numbers as texts": [
        ("CREATE TABLE p (a INT, d STRING, n INT) PARTITIONED BY (d, n)", None),
        ("INSERT INTO p VALUES (1, '20240101', 5), (2, '9', -6)", None),
        ("INSERT INTO p VALUES (3, '20240101', 5), (4, '9', -6)", None),
        ("CALL sys.compact(`table` => 'default.p', `where` => '3 < d', compact_strategy => 'full')", None),
        ("SELECT `partition` FROM p$partitions WHERE file_count = 1", [("d=9/n=-6",)]),
        ("CALL sys.compact('default.p', '', '', '', '', 'd IN (20240101, 7) AND n > -6 AND n = 5', '', 'full')", None),
        ("SELECT count(*) FROM p$partitions WHERE file_count = 1", [(2,)]),
        ("CALL sys.compact(`table` => 'default.p', `where` => 'd = -6')", "cannot be compared with a number"),
    ],
    "times of other digits are compared": [
        ("CREATE TABLE t (t0 TIME, t3 TIME(3))", None),
        ("INSERT INTO t VALUES (TIME '10:00:00', TIME '10:00:00.250'), (TIME '10:00:01', TIME '10:00:01')", None),
        ("SELECT t0 < t3, t0 = t3, t3 IN (TIME '10:00:01', t0), t3 BETWEEN t0 AND TIME '11:00:00' FROM t",
         [(True, False, False, True), (False, True, True, True)]),
        ("SELECT count(*) FROM t a JOIN t b ON a.t0 = b.t3 WHERE b.t3 >= TIME '10:00:01'", [(1,)]),
        ("SELECT max(x) FROM (SELECT COALESCE(t3, t0) AS x FROM t UNION ALL SELECT t0 FROM t)", [(time(10, 0, 1),)]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("about", SPARK)
def test_statements_of_spark_give_what_stands_beside_them(tmp_path: Path, about: str) -> None:
    run(tmp_path, "spark", SPARK[about])


@pytest.mark.parametrize("about", FLINK)
def test_statements_of_flink_give_what_stands_beside_them(tmp_path: Path, about: str) -> None:
    run(tmp_path, "flink", FLINK[about])


def run(warehouse: Path, dialect: Literal["spark", "flink"], lines: list[Line]) -> None:
    session = Session({"warehouse": str(warehouse)}, dialect=dialect)
    for text, expected in lines:
        if isinstance(expected, str):
            with pytest.raises(SqlError) as caught:
                session.sql(text)
            assert expected in str(caught.value), text
            continue
        rows = session.sql(text).to_arrow()
        if expected is not None:
            assert [tuple(row.values()) for row in rows.to_pylist()] == expected, text
