"""The only blocking code: one thread per port, which timestamps and posts what arrives.

A link never parses, logs or decides. It opens its port, posts incoming bytes and changes of its own state to
a bounded queue (the inlet), writes the output that is passed to it, and reopens the port after a loss.
"""
