"""Cards: their notation, the ranking of three-card hands, and whether a deal counts."""
