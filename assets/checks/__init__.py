"""Asset checks, run from the UI or reported by a sensor."""
