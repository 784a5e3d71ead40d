"""The checks that take long: of a table that is an asset, of a database's partitions, and in jobs of their own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dagster as dg

from maintenance.project.config import TableConfig
from maintenance.table.acknowledged import COMPACTIONS_PROVED
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.asset_checks import (
    CHANGELOG_HOLDS,
    FSCK,
    AuditConfig,
    FsckConfig,
    audited,
    examined,
)
from paimon_maintenance.assets.checks.orphan_check import ORPHAN_BYTES, counted
from paimon_maintenance.assets.checks.proofs import ProofConfig, proved_now
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark


@dataclass(frozen=True, slots=True)
class LongCheck:
    """A check that reads much.

    Attributes:
        name: of the check; `text`: what holds if it passes.
        step: of the op of tables that are partitions; `action`: of the job that runs it.
        look: looks, in the context of a check or an op, and gives the result.
        config: what may be set for it; None: nothing.
        applies: whether a table has it.
    """

    name: str
    text: str
    step: str
    action: str
    look: Callable[[Any, Any, PaimonCatalog, Spark, TableConfig], dg.AssetCheckResult]
    config: type[dg.Config] | None = None
    applies: Callable[[TableConfig], bool] = lambda _: True

    def result(self, context: Any, config: Any, table: TableConfig) -> dg.AssetCheckResult:
        """`config`: of the op, as far as it has one."""
        settings = None if self.config is None else self.config(**(config or {}))
        return self.look(context, settings, context.resources.catalog, context.resources.spark, table)

    def of_table(self, table: TableConfig) -> dg.AssetChecksDefinition:
        """The check of a table that is an asset. An expiry meanwhile would take what it has to read: it waits."""
        schema: Any = None if self.config is None else self.config.to_config_schema()

        @dg.asset_check(
            asset=keys.spot_of(table).asset,
            name=self.name,
            description=self.text,
            pool=keys.pool(table.identifier),
            config_schema=schema,
            required_resource_keys={"catalog", "spark"},
        )
        def check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
            return self.result(context, context.op_execution_context.op_config, table)

        return check


_FITS = "Hints, snapshots, manifests and files are there and fit together."
_FEW = "Files that no snapshot, tag, changelog or branch names take up little space."
_TURNS = "The changelog turns the rows of one snapshot into those of another, key by key."
_PROVED = "Compactions of other engines left every row as it was."
LONG_CHECKS = (
    LongCheck(FSCK, _FITS, "fsck", "fsck", examined, FsckConfig),
    LongCheck(ORPHAN_BYTES, _FEW, "orphan_bytes", "fsck", counted),
    LongCheck(CHANGELOG_HOLDS, _TURNS, "audit", "audit", audited, AuditConfig, lambda table: table.has_changelog),
    LongCheck(COMPACTIONS_PROVED, _PROVED, "prove", keys.PROVE, proved_now, ProofConfig),
)
