"""The journal: the table's durable memory, and the one place from which an outcome may be announced.

SQLite in WAL mode with synchronous=FULL, append-only, each row chained to the last by its hash, each outcome
signed. One connection in one thread writes; everybody else reads through a connection of their own.
"""
