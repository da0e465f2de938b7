"""Recorded sensor logs: read, write, replay them, and compare the outcomes with the expected ones."""
