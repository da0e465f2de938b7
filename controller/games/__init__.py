"""The games: one package per game, with its state machine and its wagers.

The games share the attempt code in `controller.machines` and the settlement code in `controller.settlement`.
"""
