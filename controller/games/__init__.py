"""The games, one package each. A package holds the game's machine and its wagers.

Code that games share is elsewhere: attempts and the tables of machines in `controller.machines`, and the
lines and amounts of settlements in `controller.settlement`.
"""
