"""The command line, `tablectl`; each command's module is imported only when that command is run."""
