"""The doctor's look at the screens: the sign-in process's files and socket, and the console's port."""

import os
import re
import socket
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from controller.people.places import (
    FOLDER,
    KEY_FILE,
    PUBLIC_FILE,
    REGISTER_FILE,
    SCREENS_FILE,
    SOCKET,
    TRIES_FILE,
)
from controller.technician.machine_checks import SCREEN_UNITS, Finding, Machine, unit_properties

SIGN_IN, CONSOLE = SCREEN_UNITS
HOST, PORT = "127.0.0.1", 8321
"""Where `tablectl console` serves unless its unit says otherwise."""
PATIENCE_S = 3.0
PRIVATE, PUBLIC = 0o600, 0o644
_PROPERTIES = "LoadState,ActiveState,UnitFileState,ExecStart"
_START_SIGN_IN = "systemctl enable --now table-sign-in"
_START_CONSOLE = "systemctl enable --now table-console"


def screens(machine: Machine) -> Iterator[Finding]:
    """Check what signs people in and what serves the screens; nothing where neither is installed."""
    sign_in = unit_properties(machine, SIGN_IN, _PROPERTIES)
    if _unused(sign_in):
        yield Finding("unchecked", "sign-in", "not enabled: nobody signs in at this table", _START_SIGN_IN)
    elif _installed(sign_in):
        yield from _files(machine.root / FOLDER.removeprefix("/"))
        yield _socket(machine.root / SOCKET.removeprefix("/"), active=sign_in["ActiveState"] == "active")
    console = unit_properties(machine, CONSOLE, _PROPERTIES)
    if _unused(console):
        yield Finding("unchecked", "console", "not enabled: this table has no screens", _START_CONSOLE)
    elif _installed(console):
        yield _port(console.get("ExecStart", ""), active=console["ActiveState"] == "active")


def _installed(unit: Mapping[str, str]) -> bool:
    return unit.get("LoadState") == "loaded" and "ActiveState" in unit


def _unused(unit: Mapping[str, str]) -> bool:
    """Return whether the unit is there and nobody asked for it: the installer lays it down at every table."""
    return _installed(unit) and (unit["ActiveState"], unit.get("UnitFileState")) == ("inactive", "disabled")


def _files(folder: Path) -> Iterator[Finding]:
    """Check that the secrets are the sign-in user's own, and that the controller can read the public key."""
    if not folder.is_dir():
        yield Finding("fault", "sign-in files", f"{folder}: found no folder", _START_SIGN_IN)
        return
    owner = folder.stat().st_uid
    wrong = list(_wrong_modes(folder, owner))
    for says, remedy in wrong:
        yield Finding("fault", "sign-in files", says, remedy)
    if not (folder / PUBLIC_FILE).exists():
        says = f"{folder / PUBLIC_FILE}: not there yet; the controller accepts no screens without it"
        yield Finding("fault", "sign-in files", says, _START_SIGN_IN)
    elif not wrong:
        yield Finding("ok", "sign-in files", f"{folder}: register and key are closed, the public key is open")
    if not (folder / REGISTER_FILE).exists():
        says = f"{folder / REGISTER_FILE}: nobody can sign in yet"
        yield Finding("warning", "people", says, "tablectl people add NAME --role boxperson")


def _wrong_modes(folder: Path, owner: int) -> Iterator[tuple[str, str]]:
    for name in (KEY_FILE, REGISTER_FILE, TRIES_FILE, SCREENS_FILE, PUBLIC_FILE):
        file = folder / name
        with suppress(FileNotFoundError):
            found, expected = file.stat(), PUBLIC if name == PUBLIC_FILE else PRIVATE
            if stat.S_IMODE(found.st_mode) != expected:
                says = f"{file}: found mode {stat.S_IMODE(found.st_mode):04o}, expected {expected:04o}"
                yield says, f"chmod {expected:o} {file}"
            if found.st_uid != owner:
                says = f"{file}: found owner {found.st_uid}, expected {owner}, the folder's"
                yield says, f"chown --reference={folder} {file}"


def _socket(path: Path, *, active: bool) -> Finding:
    """Knock at the sign-in process's socket."""
    about = "sign-in socket"
    if not path.exists():
        remedy = f"journalctl -u {SIGN_IN}" if active else _START_SIGN_IN
        return Finding("fault", about, f"{path}: found no socket, expected one", remedy)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & stat.S_IRWXO:
        says = f"{path}: found mode {mode:04o}, open to everybody; expected 0660"
        return Finding("fault", about, says, f"systemctl restart {SIGN_IN}")
    if not os.access(path, os.W_OK):
        return Finding("unchecked", about, f"{path}: is there, and closed to this user; run as root")
    with socket.socket(socket.AF_UNIX) as knock:
        knock.settimeout(PATIENCE_S)
        try:
            knock.connect(str(path))
        except OSError as error:
            says = f"{path}: no answer ({error.strerror or error})"
            return Finding("fault", about, says, f"systemctl restart {SIGN_IN}")
    return Finding("ok", about, f"{path}: takes connections")


def _port(starts: str, *, active: bool) -> Finding:
    """Knock at the console's port, where its unit has it."""
    about, (host, port) = "console", _address(starts)
    if not active:
        return Finding(
            "fault", about, f"{host}:{port}: not running", f"journalctl -u {CONSOLE}; {_START_CONSOLE}"
        )
    try:
        with socket.create_connection((host, port), PATIENCE_S):
            return Finding("ok", about, f"{host}:{port}: takes connections")
    except OSError as error:
        says = f"{host}:{port}: no answer ({error.strerror or error})"
        return Finding("fault", about, says, f"journalctl -u {CONSOLE}; systemctl restart {CONSOLE}")


def _address(starts: str) -> tuple[str, int]:
    """Read the address out of the unit's command; one that stands for all is asked on this machine."""
    host = re.search(r"--host[ =](\S+)", starts)
    port = re.search(r"--port[ =](\d+)", starts)
    named = HOST if host is None or host[1] in {"0.0.0.0", "::"} else host[1]  # noqa: S104 - it is compared
    return named, PORT if port is None else int(port[1])
