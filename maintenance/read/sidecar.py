"""Whether single rows of a data file are read out of its row sidecar, which finds them faster.

Source: options `data-evolution.row-sidecar.*`, Java `DataEvolutionSplitRead.shouldReadRowSidecar`.
"""

from dataclasses import dataclass

from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.row_file.data_format import SIDECAR_SUFFIX
from maintenance.options import table as table_options
from maintenance.options.model import TableModel


@dataclass(frozen=True, slots=True)
class SidecarLimits:
    """The most rows, and the largest share of a file's rows, that are read out of sidecars."""

    rows: int = table_options.DATA_EVOLUTION_ROW_SIDECAR_MAX_SELECTED_ROWS.default
    share: float = table_options.DATA_EVOLUTION_ROW_SIDECAR_MAX_SELECTION_RATIO.default

    @classmethod
    def of(cls, options: TableModel) -> "SidecarLimits":
        return cls(
            table_options.DATA_EVOLUTION_ROW_SIDECAR_MAX_SELECTED_ROWS.of(options),
            table_options.DATA_EVOLUTION_ROW_SIDECAR_MAX_SELECTION_RATIO.of(options),
        )

    def sidecar_of(self, file: DataFileMeta, rows: int) -> str | None:
        """The name of the sidecar to read so many rows of a file from; None = read the file itself."""
        names = [name for name in file.extra_files if name.endswith(SIDECAR_SUFFIX)]
        few = 0 < rows <= self.rows and rows < file.row_count and rows <= self.share * file.row_count
        return names[0] if few and len(names) == 1 else None
