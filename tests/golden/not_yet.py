"""Golden reads that are refused so far, and the feature each waits for.

Strict: every read that a pattern covers must be refused with `UnsupportedError`; one that starts to pass must leave it.
A pattern matches a whole id, ``<case>:<table>:<read>``: ``*`` is anything, ``[!$]*`` anything but a system table.
"""

NOT_YET: dict[str, str] = {}
