"""Tests of a line's debounced state, from edges and reads of the level."""

from drivers.gpio.input_line import EdgeMissed, InputLine, LevelChange, LineChange


def known(debounce_us: int = 200) -> InputLine:
    """Return a line that has been inactive since 1000."""
    line = InputLine(debounce_us, 200)
    changes = [*line.level(1000, False), *line.level(1000 + debounce_us, False)]
    assert changes == [LevelChange(False, 1000, False)]
    return line


def test_time_alone_proves_nothing() -> None:
    line = known()
    line.edge(2000, True, 1)
    assert line.tick(9_000_000) == []
    assert line.read_due_us == 2200
    assert line.level(2200, True) == [LevelChange(True, 2000, True)]


def test_the_next_edge_proves_what_lasted() -> None:
    line = known()
    line.edge(2000, True, 1)
    assert line.edge(2150, False, 2) == []
    assert line.edge(5000, True, 3) == []
    assert line.edge(5200, False, 4) == [LevelChange(True, 5000, True)]


def test_two_polls_that_contradict_the_edges_must_be_apart() -> None:
    line = known()
    assert line.level(2000, True) == []
    assert line.level(3000, True) == []
    assert line.level(12_000, True) == [EdgeMissed(True, 12_000)]


def test_a_poll_older_than_an_edge_proves_nothing() -> None:
    line = known(debounce_us=0)
    line.edge(50_000, True, 1)
    changes: list[LineChange] = []
    for t_us in (10_000, 30_000):
        changes += line.level(t_us, False)
    assert changes == []
    assert line.stable


def test_a_poll_is_not_requested_twice_at_once() -> None:
    line = known()
    line.edge(2000, True, 1)
    line.read_requested(2200)
    assert line.read_due_us == 52_200
    line.level(2100, True)
    assert line.read_due_us == 2200


def test_edges_never_run_backwards() -> None:
    line = known()
    line.edge(9000, True, 1)
    line.level(9500, True)
    line.edge(3000, False, 2)
    (fell,) = line.level(10_000, False)
    assert isinstance(fell, LevelChange)
    assert fell.t_us >= 9000
