"""The virtual table: simulated dice, wheels and people, with the truth about what they did."""
