"""Screens at a table: the staff's console and the players' display, served by a separate process.

That process reaches the controller only through the control socket, so the table is unaffected if the process
is slow or is killed.
"""
