"""What the warehouse holds, beside what tables.yaml names."""
