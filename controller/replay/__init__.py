"""Tools for recorded sensor logs: reading, writing, cutting, replay and comparison of outcomes."""
