"""The engine, which orders readings, fires timers and runs the game's machines to produce effects.

A live table and a replay run the same code. The engine takes the time from the readings and reads no clock.
"""
