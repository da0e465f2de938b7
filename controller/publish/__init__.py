"""Publishing: outcomes go from the outbox to the settlement engine, at least once and in order per table.

`events` is the message contract, and `players` the part of it that players may see. `pump` drains the outbox
into a sink: `embedded` (an engine in this process) or `mqtt`. `sink` decides which outcomes the pump offers,
and when.
"""
