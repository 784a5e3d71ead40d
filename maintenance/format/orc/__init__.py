"""ORC data files: reading, writing, and what Java needs beyond what Arrow writes."""
