"""Cards: their notation, the ranking of three-card hands, and the judge of deals."""
