"""The wagers of Three Card Poker: the pay table, the exact house edges and the wager book."""
