"""The command line: `tablectl`, one module a command, imported only when it is chosen."""
