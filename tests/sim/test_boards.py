"""A simulated board reports in its hello what the boards' firmware reports."""

from random import Random

from drivers.node.device import NodeDevice, NodeSettings
from drivers.sim.boards import Board

STEP_US = 2_000


class Wired:
    """A simulated board, connected to the table's end of the link."""

    def __init__(self, *reads: str) -> None:
        self.now_us = 1_000_000
        self.device = NodeDevice("one", NodeSettings(node="one", port="/dev/table-one"), Random(2).randbytes)
        self.board = Board("one", reads, Random(1))
        self.device.start(self.now_us)
        self.device.on_open(self.now_us)
        self.board.start(self.now_us)

    def after(self, seconds: float) -> dict[str, object]:
        """Run both; return the status of the device."""
        end_us = self.now_us + round(seconds * 1e6)
        while self.now_us < end_us:
            self.now_us += STEP_US
            self.device.tick(self.now_us)
            self.board.receive(self.now_us, self.device.take_output())
            self.board.tick(self.now_us)
            self.device.receive(self.now_us, self.board.take_output())
        return dict(self.device.status())


def test_a_board_reports_why_it_started() -> None:
    wired = Wired("die_at")
    assert wired.after(2)["reset"] == "power"
    wired.board.restart(wired.now_us)
    assert wired.after(3)["reset"] == "watchdog"
    wired.board.start(wired.now_us)
    assert wired.after(3)["reset"] == "power"


def test_a_wheel_board_reports_the_error_that_its_self_test_measured() -> None:
    """A wall board's error depends on a pulse through its panel, which the simulation does not have."""
    for reads, error_us in ((("ball_beam", "rotor_index"), 1.0), (("wall_impact",), None)):
        wired = Wired(*reads)
        status = wired.after(2)
        assert (status["error_us"], status["error_mm"]) == (None, None)
        wired.device.command(wired.now_us, "selftest", {})
        wired.after(1)
        wired.device.on_open(wired.now_us)  # The table's next session begins with the board's hello.
        assert wired.after(3)["error_us"] == error_us
        wired.board.restart(wired.now_us)
        assert wired.after(3)["error_us"] is None
