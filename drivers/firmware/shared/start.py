"""Starts a board: main.py calls `run`, which runs the board that the settings name."""

from drivers.firmware.console.board import Console
from drivers.firmware.shared.identity import SETTINGS, firmware_of, hash_of, load
from drivers.firmware.shared.node import NO_SESSION
from drivers.firmware.shared.program import VERSION, Program
from drivers.firmware.wall.board import Wall
from drivers.firmware.wheel.board import Wheel

BOARDS = {"console": Console, "wall": Wall, "wheel": Wheel}


def program_on(hardware, root: str) -> Program:  # type: ignore[no-untyped-def]
    """Return the program for the board whose files and settings are below `root`."""
    settings = load(root + SETTINGS)
    board = BOARDS[str(settings["board"])](hardware, settings)
    firmware = firmware_of(board.NAME, VERSION, hash_of(root))
    return Program(hardware, board, settings, firmware)


def run(hardware, root: str = "/") -> None:  # type: ignore[no-untyped-def]
    """Run the board until Ctrl-C is pressed, which works only while no table is connected."""
    program = program_on(hardware, root)
    program.announce()
    try:
        while True:
            hardware.interruptible(program.session == NO_SESSION)
            program.turn()
    except KeyboardInterrupt:
        hardware.release()
        program.board.safe()
