"""The virtual table: simulated dice, wheels and people, with the truth of each attempt."""
