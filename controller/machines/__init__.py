"""The state machines of a table.

Three kinds of machine run in parallel: the table's mode, the life cycle of an attempt (throw, spin or deal),
and the game. Each machine is defined by a table of data, from which the diagrams and the tests of its cells
are generated. Machines append effects and never read a clock.
"""
