"""The only blocking code: one thread per port that stamps what arrives, posts it and does nothing else.

A link never parses, logs or decides. It opens its port, posts bytes and its own ups and downs into a bounded
inlet, writes what it is given, and reopens the port after a loss.
"""
