"""The example: a year of New York's flights and weather, maintained by the jobs of this project."""
