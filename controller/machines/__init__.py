"""The state machines of a table: its states, the inputs that each allows, and the outcomes they publish.

Flat `transitions` machines run side by side: the table's mode, one attempt's life-cycle (shared by throws,
spins and deals), and the game. Each is a table of data, from which the diagrams and the cell-by-cell tests
are generated. Machines append effects; they never read a clock.
"""
