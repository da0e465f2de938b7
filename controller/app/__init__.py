"""The daemon: the composition root that joins sources, engine, journal and the control socket.

Threads are at the edges: each source, the journal's writer, the recorder, the control socket and its clients.
One core thread owns the session. The edges stamp and post into one bounded queue; only that queue, the active
faults, the hub and the journal's entrance are shared.
"""
