"""The wagers of roulette: the layout, the pay table and the wager book."""
