"""The games, a package each: its machine, and its wagers with their pay table, edges and words.

What games share stays outside: attempts and tables of machines in `controller.machines`; the lines, money and
amounts of any settlement in `controller.settlement`.
"""
