"""A node on any port, operated by hand: the boards' firmware, with readings typed on standard input.

It shares no code with the table's end, so that each can be tested against the other.
"""
