"""Settlement: takes wagers and results, and returns decided bets, exact to the cent.

Each game has its own wager book (`controller.games.*.wagers`), which receives requests one by one. A book
reads no clock, draws no random number and does no I/O. `run` connects a game to JSON Lines.
"""
