"""Roulette: its state machine, its wagers, and the `Game` value through which all else uses them."""
