"""The state machines of a table: their states, the inputs that each state allows, and the outcomes published.

Flat machines of the `transitions` library run side by side: the table's mode, the life cycle of an attempt
(shared by throws, spins and deals), and the game. Each machine is a table of data, from which the diagrams
and the cell-by-cell tests are generated. Machines append effects; they never read a clock.
"""
