"""The table controller: judges throws, spins and deals from readings, and publishes their outcomes."""
