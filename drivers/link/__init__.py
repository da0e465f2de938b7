"""Ports and their links. A link is a thread that timestamps and posts one port's input.

A link opens its port, posts incoming data and state changes to a bounded queue (the inlet), writes output,
and reopens the port after a loss. It never parses data. All blocking calls are in this package.
"""
