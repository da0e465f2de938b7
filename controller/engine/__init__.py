"""The path from a reading to its effects: readings are ordered, timers fire, then the game's machines decide.

A live table and a replay run this same code. Time is the readings' own; nothing here reads a clock.
"""
