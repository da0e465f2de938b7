"""Runs the board named in the settings; main.py calls `run`."""

from drivers.firmware.console.board import Console
from drivers.firmware.shared.identity import SETTINGS, format_firmware_id, hash_files, load
from drivers.firmware.shared.node import NO_SESSION
from drivers.firmware.shared.program import VERSION, Program
from drivers.firmware.wall.board import Wall
from drivers.firmware.wheel.board import Wheel

BOARDS = {"console": Console, "wall": Wall, "wheel": Wheel}


def build_program(hardware, root: str) -> Program:  # type: ignore[no-untyped-def]
    """Return the program for the board whose files and settings are below `root`."""
    settings = load(root + SETTINGS)
    board = BOARDS[str(settings["board"])](hardware, settings)
    firmware = format_firmware_id(board.NAME, VERSION, hash_files(root))
    return Program(hardware, board, settings, firmware)


def run(hardware, root: str = "/") -> None:  # type: ignore[no-untyped-def]
    """Run the board until Ctrl-C is pressed. Ctrl-C has an effect only while no table is connected."""
    program = build_program(hardware, root)
    program.announce()
    try:
        while True:
            hardware.set_interruptible(program.session == NO_SESSION)
            program.run_once()
    except KeyboardInterrupt:
        hardware.release()
        program.board.make_safe()
