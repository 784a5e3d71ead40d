"""Compaction: of buckets, of whole databases, sorted, while writing; changelogs, which compaction makes."""
