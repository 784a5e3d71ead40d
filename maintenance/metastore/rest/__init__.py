"""The REST catalog: a server keeps databases, tables and views, and publishes snapshots; data files stay in storage."""
