"""Cards: how they are written, how three of them rank, and whether a deal counts."""
