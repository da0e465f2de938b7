"""The settlement engine as a service.

The engine applies each outcome and each player's request exactly once, and keeps the players' balances in a
database. It acknowledges an outcome after committing it. The games in `controller.settlement` decide the
wagers.
"""
