"""Publishing: outcomes go from the outbox to the settlement engine, at least once and in order per table.

`events` is the message contract and `players` what of it a player may see; `window` decides what is offered
when, and `pump` drains the outbox into a sink: `embedded` (an engine in this process) or `mqtt`.
"""
