"""The daemon: the composition root that joins sources, engine, journal and the control socket.

Each source, the journal's writer, the recorder, the control socket and each of its clients runs in a separate
thread, and one core thread owns the session. The other threads stamp readings and post them to one bounded
queue. Only that queue, the active faults, the hub and the journal's queue are shared.
"""
