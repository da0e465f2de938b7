"""The virtual table: simulated dice, wheels and people, with the ground truth of each attempt."""
