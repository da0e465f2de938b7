"""The journal: the table's durable, append-only record. Outcomes are published only once they are on disk.

It is a SQLite database in WAL mode with synchronous=FULL. Each row is chained to the previous row by its
hash, and each outcome is signed. One connection in one thread writes; each reader has its own connection.
"""
