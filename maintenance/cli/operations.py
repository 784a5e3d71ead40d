"""The operations that have a command, with what their help says. The procedures of SQL carry them out."""

from maintenance.operation_names import commands

SUMMARIES = {
    **commands(),
    "clone": "Copy a table or database to another warehouse, or bring the copy up to date.",
    "migrate_database": "Make Paimon tables of the format tables or plain Hive tables of a database.",
    "migrate_table": "Make a Paimon table of the files of a format table or a plain Hive table.",
    "repair": "Let a catalog know the databases and tables that its warehouse has.",
}
