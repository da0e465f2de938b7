"""The settlement engine as a service: outcomes and players' requests in, balances out, each effect exactly
once.

The games decide (`controller.settlement`); this package stores their requests and the money in a database,
and acknowledges a table's outcome only once it is committed. Clock and random numbers are passed in.
"""
