"""What `paimon-maintenance` does on a console, one module per command."""
