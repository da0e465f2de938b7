"""The single path from a reading to its effects: order and timers in the data's own time, then the machines.

Live and replay are this same code fed from two sources. Nothing here reads a clock.
"""
