"""The operations that have a command, with what their help says. The procedures of SQL carry them out."""

from maintenance.operation_names import commands

SUMMARIES = commands()
