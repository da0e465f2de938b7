"""Settlement: wagers and results in, decided bets out, to the cent.

Each game keeps its own wager book (`controller.games.*.wagers`) and receives requests one by one; it reads no
clock, draws no random number and does no I/O. `run` connects a game to JSON Lines.
"""
