"""Recorded sensor logs: reading, writing, cutting and replaying them, and comparing their outcomes."""
