"""Settlement of bets, exact to the cent, from wagers and results.

Each game has a wager book (`controller.games.*.wagers`), which handles requests one by one. A book reads no
clock, draws no random numbers and does no I/O. `run` connects a book to JSON Lines.
"""
