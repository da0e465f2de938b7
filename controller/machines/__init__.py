"""The game machines: what state a table is in, what may happen there, and what it publishes.

Flat `transitions` machines run side by side: the table's mode, one attempt's life-cycle (shared by throws,
spins and deals), and the game. Each is a table of data from which the diagrams and the cell-by-cell tests are
made. Machines append effects; they never read a clock.
"""
