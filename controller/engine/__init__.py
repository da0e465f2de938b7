"""The path from a reading to its effects: readings are ordered, timers fire, then the game's machines decide.

A live table and a replay run the same code. Time is that of the readings; nothing here reads a clock.
"""
