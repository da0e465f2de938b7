"""Screens at a table: the staff's console and the players' display, served by a process of their own.

It speaks to the controller through the control socket alone: a slow or killed one costs the table nothing.
"""
