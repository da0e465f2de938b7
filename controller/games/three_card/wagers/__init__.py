"""The wagers of Three Card Poker: the pay table, the exact edges and the wager book."""
