"""Measurements against the peers and the physical limit. Each prints ratios; none is a test."""
