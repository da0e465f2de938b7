"""Settlement: wagers and results in, decided bets out, to the cent.

Each game keeps its own wager book (`controller.games.*.wagers`) and is told what happened, request by
request; it reads no clock, draws no random number and does no I/O. `run` joins a game to JSON Lines.
"""
