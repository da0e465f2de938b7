"""The daemon: the composition root that connects sources, engine, journal and the control socket.

One core thread owns the session. Each source, the journal's writer, the recorder, the control socket and each
client has its own thread. Sources timestamp readings and post them to one bounded queue. Apart from that
queue, threads share only the active faults, the hub, the journal's queue and snapshots of the core's state.
"""
