"""The only blocking code: one thread per port, which stamps and posts what arrives and does nothing else.

A link never parses, logs or decides. It opens its port, posts incoming bytes and changes of its own state to
a bounded queue (the inlet), writes the output it is given, and reopens the port after a loss.
"""
