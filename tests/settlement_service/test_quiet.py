"""Clients outside the house cannot fill the log."""

import logging

from controller.settlement_service.http_process import MAX_CHARACTERS, MAX_LINES, MINUTE_S, LimitedLog


def record(at_s: float, says: str = "bad request") -> logging.LogRecord:
    made = logging.LogRecord("x", logging.WARNING, "", 0, says, (), None)
    made.created = at_s
    return made


def test_excess_lines_are_counted_and_reported_in_the_next_minute() -> None:
    lines: list[str] = []
    log = LimitedLog(lines.append)
    for n in range(1000):
        log.emit(record(100 + n / 100))
    assert len(lines) == MAX_LINES
    log.emit(record(100 + MINUTE_S))
    assert lines[MAX_LINES:] == [f"{1000 - MAX_LINES} more log records were omitted\n", "bad request\n"]


def test_a_clock_that_is_set_back_silences_nothing() -> None:
    lines: list[str] = []
    log = LimitedLog(lines.append)
    for n in range(MAX_LINES + 5):
        log.emit(record(10_000 + n))
    log.emit(record(50, "later"))
    assert lines[-1] == "later\n"


def test_a_long_line_is_cut() -> None:
    lines: list[str] = []
    LimitedLog(lines.append).emit(record(1, "x" * 10 * MAX_CHARACTERS))
    assert len(lines[0]) < MAX_CHARACTERS + 10
