"""`paimonctl`: Paimon tables from the command line."""
