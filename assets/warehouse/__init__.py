"""What the warehouse holds, besides what tables.yaml names."""
