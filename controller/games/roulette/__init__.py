"""Roulette: its state machine, its wagers, and the `Game` value through which the controller uses them."""
