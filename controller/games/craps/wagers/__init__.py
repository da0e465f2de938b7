"""The wagers of craps. Both rule documents use the same wager book with different pay tables."""
