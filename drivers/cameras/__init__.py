"""Cameras that report dice, balls or cards to a table."""
