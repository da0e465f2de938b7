"""The judges, which perform no I/O. They apply every rule, and each finding states the id of its rule."""
