"""Publishing: outcomes go from the outbox to the settlement engine, at least once and in order per table.

`events` is the message contract, and `players` the part of it that a player may see; `sink` decides what is
offered when, and `pump` drains the outbox into one: `embedded` (an engine in this process) or `mqtt`.
"""
