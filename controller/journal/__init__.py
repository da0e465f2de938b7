"""The journal: the table's durable, append-only record; an outcome may be announced only once it is in here.

It is a SQLite database in WAL mode with synchronous=FULL. Each row is chained to the one before by its hash,
and each outcome is signed. One connection in one thread writes; each reader has a connection of its own.
"""
