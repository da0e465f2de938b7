"""The wagers of craps. Both documents use the same wager book, with different pay tables."""
