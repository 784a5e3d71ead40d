"""Compaction: of buckets, of whole databases, sorted, beside writing; changelogs, which compaction makes."""
