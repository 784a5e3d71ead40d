"""Splits become record batches: schema evolution, merge-on-read in bounded memory."""
