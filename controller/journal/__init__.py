"""The journal: the table's durable, append-only record. An outcome is published only once it is on the disk.

The journal is an SQLite database in WAL mode with synchronous=FULL. A hash chains each row to the previous
row, and each outcome is signed. One thread writes through one connection; each reader uses a separate one.
"""
