"""Ports and their links: one thread per port that timestamps and posts input.

A link opens its port, posts incoming data and state changes to a bounded queue (the inlet), writes output,
and reopens the port after a loss. It never parses data. All blocking calls are in this package.
"""
