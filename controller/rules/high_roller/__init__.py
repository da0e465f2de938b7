"""The rules of High Roller, without I/O: the order of rolls, the winner, and the split of the money."""
