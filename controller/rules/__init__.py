"""The judges, without I/O. Each rule is one function with one id, and every rule is evaluated."""
