"""What can be wrong with a recorded log or an expectation file."""


class LogError(Exception):
    """A file that can't be used: which one, what was found, what was expected and what to do next."""

    def __init__(self, file: str, found: str, expected: str, advice: str, line: int | None = None) -> None:
        place = file if line is None else f"{file}, line {line}"
        super().__init__(f"{place}: found {found}, expected {expected}; {advice}")
        self.file = file
        self.line = line
        self.found = found
        self.expected = expected


class BadLineError(LogError):
    """One line that is no reading; a lenient reader skips it."""

    def __init__(self, file: str, line: int, found: str, expected: str) -> None:
        super().__init__(file, found, expected, "correct the line, or skip such lines with --lenient", line)
