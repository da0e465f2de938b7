"""Who a board is: its settings in board.json, and the hash of the files that it runs."""

import binascii
import hashlib
import json
import os

SETTINGS = "board.json"
"""The board's own settings: its name, its key, its pins. No part of the hash."""
HASH_DIGITS = 16
"""Digits of the SHA-256 that a board reports: 64 bits distinguish any two builds."""
FOLDER = 0x4000
"""The folder bit of a file's mode, as in os.stat."""


def load(path: str) -> dict[str, object]:
    """Read the settings; raises OSError or ValueError if they can't be read."""
    with open(path) as file:
        settings = json.load(file)
    if not isinstance(settings, dict) or not settings.get("name"):
        raise ValueError("board.json: expected an object with the board's name")
    return settings


def files_below(folder: str, inside: str = "") -> list[str]:
    """Return the path of every Python file below a folder, sorted."""
    found = []
    for name in sorted(os.listdir(folder)):
        if name == "__pycache__":
            continue
        path = folder.rstrip("/") + "/" + name
        if os.stat(path)[0] & 0xF000 == FOLDER:
            found += files_below(path, inside + name + "/")
        elif name.endswith(".py"):
            found.append(inside + name)
    return sorted(found)


def hash_of(folder: str) -> str:
    """Return the SHA-256 over the path, length and bytes of every Python file below a folder, in
    hexadecimal digits.
    """
    digest = hashlib.sha256()
    for path in files_below(folder):
        with open(folder.rstrip("/") + "/" + path, "rb") as file:
            content = file.read()
        digest.update(f"{path} {len(content)}\n".encode())
        digest.update(content)
    return binascii.hexlify(digest.digest()).decode()


def firmware_of(board: str, version: str, whole_hash: str) -> str:
    """Return the firmware id of a board's hello: `wall-1.0+0123456789abcdef`."""
    return board + "-" + version + "+" + whole_hash[:HASH_DIGITS]
