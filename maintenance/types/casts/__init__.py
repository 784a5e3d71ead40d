"""Casts between Paimon's types: which are allowed, and each as a function of whole columns."""
