"""Configuration: YAML in, typed tables and rule sets out, all mistakes at once."""
