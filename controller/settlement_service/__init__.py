"""The running settlement engine: outcomes and players' requests in, balances out, each effect exactly once.

The games decide (`controller.settlement`); this package keeps their requests and the money in a database, and
acknowledges a table's outcome only once it is committed. Clock and chance are handed in.
"""
