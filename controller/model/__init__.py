"""The vocabulary: readings in, verdicts between, outcomes out.

Everything here is a frozen value without behaviour beyond its own shape. Nothing here reads a clock,
draws a random number or does I/O, and nothing here imports another package of the project.
"""
