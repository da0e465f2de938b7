"""Three Card Poker: the state machine, the wagers, and the `Game` value for the registry."""
