"""Loads a board's settings, and computes the hash of the files that the board runs."""

import binascii
import hashlib
import json
import os

SETTINGS = "board.json"
"""The file with the board's name, key and pins. The hash does not cover this file."""
HASH_DIGITS = 16
"""Number of digits of the SHA-256 that a board reports. 64 bits are enough to distinguish builds."""
FOLDER = 0x4000
"""The file-type bits of a directory in the mode that os.stat returns."""


def load(path: str) -> dict[str, object]:
    """Return the settings in a file. Raises OSError or ValueError."""
    with open(path) as file:
        settings = json.load(file)
    if not isinstance(settings, dict) or not settings.get("name"):
        raise ValueError("board.json: expected an object with the board's name")
    return settings


def files_below(folder: str, inside: str = "") -> list[str]:
    """Return the sorted paths of all Python files below a folder."""
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


def hash_files(folder: str) -> str:
    """Return the SHA-256, in hex digits, of the paths, lengths and contents of a folder's Python files."""
    digest = hashlib.sha256()
    for path in files_below(folder):
        with open(folder.rstrip("/") + "/" + path, "rb") as file:
            content = file.read()
        digest.update(f"{path} {len(content)}\n".encode())
        digest.update(content)
    return binascii.hexlify(digest.digest()).decode()


def format_firmware_id(board: str, version: str, whole_hash: str) -> str:
    """Return the firmware id for a board's hello, such as `wall-1.0+0123456789abcdef`."""
    return board + "-" + version + "+" + whole_hash[:HASH_DIGITS]
