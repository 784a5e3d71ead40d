"""What goes: snapshots, changelogs, tags and partitions past their retention, and how files are removed safely."""
