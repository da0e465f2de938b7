"""Three Card Poker: its machine, its wagers, and the `Game` value through which the controller uses them."""
