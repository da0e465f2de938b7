"""Publishing: the transfer of outcomes from the outbox to the settlement engine, at least once and in order.

`events` defines the messages, and `players` defines the data that players receive. `pump` passes outcomes
from the outbox to a sink: `embedded` (an engine in this process) or `mqtt`. `sink` decides when an outcome is
passed on or sent again.
"""
