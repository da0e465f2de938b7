"""The settlement engine as a service: it applies outcomes and players' requests exactly once, and keeps the
balances.

The games in `controller.settlement` decide the wagers; this package stores their requests and the money in a
database, and acknowledges a table's outcome only once it is committed. The clock and the source of random
numbers are passed in.
"""
