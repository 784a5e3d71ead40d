"""`CALL sys.*`: Paimon's procedures, mapped to the engine's operations."""
