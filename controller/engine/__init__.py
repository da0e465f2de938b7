"""The single path from a reading to its effects: order by the data's own time, timers in that time, the machines.

Live and replay are this same code fed from two sources. Nothing here reads a clock.
"""
