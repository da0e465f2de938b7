"""The wagers of High Roller: the cards bought, the throws that decide a game, and the split of the money."""
