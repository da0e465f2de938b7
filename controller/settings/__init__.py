"""Configuration: reads YAML files as typed tables and rule sets, and reports all mistakes at once."""
