"""Virtual players: simulated dice, wheels and people with the truth of what they did."""
