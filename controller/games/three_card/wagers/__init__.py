"""Three Card Poker: cards, how hands rank and pay, and how a deal decides its wagers."""
