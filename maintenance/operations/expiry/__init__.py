"""Expiry of snapshots, changelogs, tags and partitions, and how their files are removed safely."""
