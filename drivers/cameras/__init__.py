"""Cameras that report what they see to a table."""
