"""Roulette: the layout, what each wager covers, and how a spin decides it."""
