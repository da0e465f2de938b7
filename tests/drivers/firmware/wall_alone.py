"""Runs a wall board with simulated pins: reads a line of settings, then one line of edges per impact.

Settings, edges and output are JSON. Edges are `[[pin, level, us], ...]`, in order of time. For each line, the
board is polled every millisecond until 60 ms after the last edge.
"""

import json
import sys

from drivers.firmware.wall.board import Wall

BEFORE_US = 5000
AFTER_US = 60000
TURN_US = 1000


class Alone:
    """Simulated hardware that replays the edges of a line."""

    def __init__(self):
        self.now_us = 0
        self.coming = []

    def clock(self):
        return self.now_us

    def stamp_falling_edges(self, pins):
        pass

    def edges(self):
        seen = []
        while self.coming and self.coming[0][2] <= self.now_us:
            seen.append(self.coming.pop(0))
        return seen


def main(settings):
    hardware = Alone()
    board = Wall(hardware, settings)
    for line in sys.stdin:
        hardware.coming = json.loads(line)
        hardware.now_us = hardware.coming[0][2] - BEFORE_US
        end_us = hardware.coming[-1][2] + AFTER_US
        said = []
        while hardware.now_us < end_us:
            said += board.poll(hardware.now_us)
            hardware.now_us += TURN_US
        sys.stdout.write(json.dumps(said) + "\n")


main(json.loads(sys.argv[1]))
