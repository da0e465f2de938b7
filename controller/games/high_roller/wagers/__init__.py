"""High Roller: cards bought, the throws that decide a game, and who gets the money."""
