"""Data types: Paimon's type text, its JSON form, Arrow's types and the values of each."""
