"""The controller's data types, such as readings (its input), verdicts, and outcomes (its output).

The package contains frozen values, protocols and pure functions. It reads no clock, draws no random numbers,
does no I/O, and imports no other package of the project.
"""
