"""What watches the tables between runs."""
