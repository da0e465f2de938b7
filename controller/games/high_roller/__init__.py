"""High Roller: the state machine, the wagers, and the `Game` instance for the registry."""
