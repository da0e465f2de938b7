"""Screens at a table: the staff's console and the players' display.

A separate process serves them and uses the controller's control socket only. A slow or killed process does
not affect the table.
"""
