"""Screens at a table: the staff's console and the players' display, served by a separate process.

It uses only the control socket, so the table is unaffected if it is slow or is killed.
"""
