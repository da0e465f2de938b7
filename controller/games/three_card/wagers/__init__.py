"""Three Card Poker's wagers: the pay table, the exact edges and the wager book."""
