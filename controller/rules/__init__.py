"""Judging, pure: one rule, one function, one id; every rule runs, every reason is listed."""
