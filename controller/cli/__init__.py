"""The command line: `tablectl`, each command imported only when it is chosen."""
