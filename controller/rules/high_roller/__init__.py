"""High Roller's own rules, pure: whose roll it is and who has won, and where a game's money goes."""
