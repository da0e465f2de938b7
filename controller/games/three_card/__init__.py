"""Three Card Poker: its machine, its wagers and what the rest needs to know of it."""
