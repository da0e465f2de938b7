"""The wagers of craps: one wager book for both documents, whose differences are in their pay tables."""
