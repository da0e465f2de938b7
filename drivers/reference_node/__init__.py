"""A node's firmware in Python that MicroPython can run as it is: how a board speaks NODE-LINK.md.

It shares no code with the table's end, so that one checks the other. `node.py` is all that a board needs.
"""
