"""Craps: one wager book for both documents; what differs between them is in their pay tables."""
