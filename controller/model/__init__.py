"""The vocabulary of the controller: readings are its input, outcomes its output, and verdicts lie between.

Everything here is a frozen value, a protocol or a pure function. Nothing here reads a clock, draws a random
number or does I/O, and nothing here imports another package of the project.
"""
