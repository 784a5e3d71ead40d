"""Orders that sort compaction can bring rows into."""
