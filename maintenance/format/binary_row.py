"""Serialized rows: the `bytes` fields of manifests. Source: metadata section 4.4, Java `BinaryRow`."""

EMPTY_ROW = bytes(12)
