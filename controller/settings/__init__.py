"""Reads the YAML configuration as typed tables and rule sets, and reports all mistakes at once."""
