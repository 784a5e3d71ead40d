"""Changes of databases as other tools write them, a JSON message on each line: their rows with their kinds."""
