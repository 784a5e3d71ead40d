"""One module for each procedure, named like Paimon's: plan, run, commit, report."""
