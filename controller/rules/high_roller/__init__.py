"""High Roller's own rules, without I/O: whose roll it is, who has won, and where a game's money goes."""
