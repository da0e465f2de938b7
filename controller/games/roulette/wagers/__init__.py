"""Roulette's wagers: the layout, the pay table and the wager book."""
