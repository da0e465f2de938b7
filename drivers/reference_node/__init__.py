"""A node on any port, by hand: the boards' own firmware with readings typed on standard input.

The node shares no code with the table's end, so that one checks the other.
"""
