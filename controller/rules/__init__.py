"""Judging without I/O: each rule is one function with one id; every rule runs, and every reason is listed."""
