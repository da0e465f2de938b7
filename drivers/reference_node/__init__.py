"""A node that runs the boards' firmware on any port and sends the readings typed on standard input.

It shares no code with the table's end, so the two ends can be tested against each other.
"""
