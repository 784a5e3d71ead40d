"""The correction of past weather: the table holds what pandas makes of it, and the system tables tell of it."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from maintenance.operations.compaction.compact import compact
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from paimon_maintenance.assets.project.environment import project_of_environment as project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.demo import correction, routes, weather
from paimon_maintenance.demo.report import Corrected, correction_report
from paimon_maintenance.demo.run import INDEX_QUERIES, WEATHER, index_report
from tests.spark.conftest import spark  # noqa: F401


@pytest.mark.slow
def test_the_correction_is_that_of_pandas(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    catalog = PaimonCatalog(warehouse=str(tmp_path))
    described = next(table for table in project().tables if table.identifier == WEATHER)
    table = catalog.get_or_create(described)
    rows = weather.observations()
    for start in range(0, rows.num_rows, 2000):
        table.write_arrow(rows.slice(start, 2000))
    before = correction.marks(catalog.open(), WEATHER)
    assert (before.files, before.records, before.vectors) == (14, 26_115, 0)
    report = table.update(correction.ASSIGNMENTS, correction.WHERE, spark=spark)
    assert (report.method, report.updated_rows) == ("deletion_vectors", 2_205)
    after = correction.marks(catalog.open(), WEATHER)
    assert (after.records, after.deleted_rows) == (26_115 + 2_205, 2_205)
    assert after.vectors == report.touched_files > 0
    assert routes.same(correction.found(table.to_arrow()), correction.expected())
    assert not routes.same(correction.found(rows), correction.expected())
    reported = Corrected(report.updated_rows, report.touched_files, report.method, 15, (("after", after),))
    assert "2,205 rows of" in correction_report("the wind", reported)[1]
    # Indexes asked for later know the rows that are not deleted.
    indexed = table.copy({"file-index.bitmap.columns": "wind_dir,visib", "file-index.bsi.columns": "precip"})
    rewrite_file_index(None, indexed)
    for query in INDEX_QUERIES[WEATHER]:
        line = index_report(table, query)
        assert " 0 by file indexes" not in line
        assert table.to_arrow(where=query).equals(
            table.to_arrow(where=query, options={"file-index.read.enabled": "false"})
        )
    assert not compact(None, table, full=True).failed
    assert correction.marks(catalog.open(), WEATHER).vectors == 0
    assert routes.same(correction.found(table.to_arrow()), correction.expected())
