"""Screens at a table: the staff's console and the players' display.

A separate process serves them, and reaches the controller only through its control socket. If this process
is slow or is killed, the table is not affected.
"""
