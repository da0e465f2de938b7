"""The daemon: the composition root that joins sources, engine, journal and the control socket.

Each source, the journal's writer, the recorder, the control socket and each of its clients runs in a separate
thread, and one core thread owns the session. The other threads timestamp readings and post them to one
bounded queue. Apart from that queue, threads share only the active faults, the hub, the journal's queue and
snapshots of the core's state.
"""
