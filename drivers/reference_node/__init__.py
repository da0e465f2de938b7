"""A node on any port that runs the boards' firmware and sends readings typed on standard input.

It shares no code with the table's end, so the two ends can be tested against each other.
"""
