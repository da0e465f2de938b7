"""The judges, which use no I/O. They evaluate every rule, and each finding states its rule's id."""
