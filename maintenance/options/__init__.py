"""Paimon's option keys with their types and defaults: one module per kind of option."""
