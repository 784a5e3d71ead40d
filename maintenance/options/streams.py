"""Options of streams through Spark. Source: Java `SparkConnectorOptions`."""

from maintenance.options.option import Option, boolean, memory_size, positive

READ_CHANGELOG = Option("read.changelog", boolean, False)
MAX_FILES: Option[int | None] = Option("read.stream.maxFilesPerTrigger", positive, None)
MAX_BYTES: Option[int | None] = Option("read.stream.maxBytesPerTrigger", memory_size, None)
MAX_ROWS: Option[int | None] = Option("read.stream.maxRowsPerTrigger", positive, None)
MIN_ROWS: Option[int | None] = Option("read.stream.minRowsPerTrigger", positive, None)
MAX_DELAY: Option[int | None] = Option("read.stream.maxTriggerDelayMs", positive, None)
LIMITS = (MAX_FILES, MAX_BYTES, MAX_ROWS, MIN_ROWS, MAX_DELAY)
