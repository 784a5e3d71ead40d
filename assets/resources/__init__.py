"""What ops, checks and sensors are given: the catalog and the Spark session."""
