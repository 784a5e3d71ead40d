"""``python -m maintenance.cli``: `paimonctl` where the package is not installed."""

from maintenance.cli.main import main

main()
