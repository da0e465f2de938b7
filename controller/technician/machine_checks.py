"""The doctor's checks of the machine: Python, disk, clock, power, units, screens and the camera's
pictures."""

import errno
import grp
import os
import re
import shutil
import socket
import stat
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Literal, NamedTuple

from controller.app.release import ReleaseFault, place_of, trusted_keys, verify
from controller.evidence.pictures import FOLDER as PICTURES_FOLDER
from controller.evidence.pictures import MB, Folder
from controller.people.register import (
    FOLDER,
    KEY_FILE,
    PUBLIC_FILE,
    REGISTER_FILE,
    SCREENS_FILE,
    SOCKET,
    TRIES_FILE,
)
from controller.settings.mistakes import SettingsError
from controller.settings.yaml_text import parse_document

State = Literal["ok", "warning", "fault", "unchecked"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: state, subject, message and remedy."""

    state: State
    about: str
    says: str
    remedy: str = ""


Call = Callable[[Sequence[str]], str | None]
"""Function that runs a program and returns its output; None if the program is missing or fails."""


class Machine(NamedTuple):
    """The table's machine, with the root of its file system and a function that runs its programs."""

    root: Path
    call: Call

    def read(self, name: str) -> str | None:
        """Return a file's text; None if the file is missing or not readable by this user."""
        try:
            return (self.root / name).read_text(encoding="utf-8", errors="replace").rstrip("\0\n")
        except OSError:
            return None


TESTED_PYTHONS = ((3, 11), (3, 13))
MIN_SQLITE = (3, 51, 3)
"""Oldest accepted release of SQLite. Older releases can lose commits when the WAL is reset."""
WARN_FREE_BYTES, MIN_FREE_BYTES = 1 << 30, 100 << 20
MAX_SYNC_S = 1.0
"""Duration of a synced write above which the card is reported as stalling or worn out."""
PACKAGES = {
    "journal": ("apsw", "cryptography"),
    "hardware": ("serial", "gpiozero", "gpiod"),
    "mqtt": ("paho",),
    "settlement": ("sqlalchemy", "fastapi", "uvicorn"),
    "pictures": ("PIL",),
}
_THROTTLED = {
    0: "the supply voltage is too low",
    1: "the processor's frequency is capped",
    2: "the processor is throttled",
    3: "the processor is too hot",
    16: "the supply voltage has been too low at some time since the machine started",
    17: "the processor's frequency has been capped at some time since the machine started",
    18: "the processor has been throttled at some time since the machine started",
    19: "the processor has been too hot at some time since the machine started",
}
"""Bits of `vcgencmd get_throttled`, from the Raspberry Pi's documentation."""


def python() -> Finding:
    """Check that the program has been tested with this version of Python."""
    found = sys.version_info[:2]
    message = f"Python {sys.version.split()[0]}"
    if TESTED_PYTHONS[0] <= found <= TESTED_PYTHONS[1]:
        return Finding("ok", "python", message)
    return Finding("warning", "python", f"{message}, expected 3.11 to 3.13", "install a tested release")


def extras(wanted: Collection[str]) -> Iterator[Finding]:
    """Check that the extras that this table needs are installed."""
    for extra, packages in PACKAGES.items():
        missing = [name for name in packages if find_spec(name) is None]
        if not missing:
            yield Finding("ok", f"extra {extra}", "installed")
        elif extra in wanted:
            message = f"{', '.join(missing)}: not installed, but needed by this table"
            yield Finding("fault", f"extra {extra}", message, f"make tools, or pip install '.[{extra}]'")
        else:
            yield Finding("ok", f"extra {extra}", "not installed, and not needed by this table")


def sqlite() -> Finding:
    """Check the release of the SQLite library that writes the journal."""
    try:
        import apsw  # noqa: PLC0415 - a machine without the extra is checked too
    except ImportError:
        return Finding("unchecked", "sqlite", "apsw is not installed")
    found = apsw.sqlite_lib_version()
    if tuple(map(int, found.split("."))) >= MIN_SQLITE:
        return Finding("ok", "sqlite", found)
    return Finding(
        "fault", "sqlite", f"{found}, expected 3.51.3 or newer", "run make tools, which installs a newer apsw"
    )


def disk(folder: Path) -> Iterator[Finding]:
    """Check the journal's disk with a synced write of a temporary file."""
    place = next((one for one in (folder, *folder.parents) if one.is_dir()), Path("/"))
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        yield Finding("fault", "disk", f"{place}: mounted read-only", "see dmesg; replace a worn-out card")
        return
    free = shutil.disk_usage(place).free
    state: State = "ok" if free >= WARN_FREE_BYTES else "warning" if free >= MIN_FREE_BYTES else "fault"
    remedy = "" if state == "ok" else "move old recordings to another disk; a full disk locks the table"
    yield Finding(state, "disk", f"{place}: {free / 1e9:.1f} GB free", remedy)
    if not os.access(place, os.W_OK | os.X_OK):
        yield Finding("unchecked", "disk speed", f"{place}: not writable by this user; run as root")
        return
    try:
        took_s = _synced_write_s(place)
    except OSError as error:
        message = f"{place}: a small file could not be written ({error.strerror or error})"
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        remedy = (
            "free space on the disk; move old recordings to another disk"
            if full
            else "see dmesg; replace a worn-out card"
        )
        yield Finding("fault", "disk speed", message, remedy)
        return
    message = f"a synced write took {took_s * 1000:.0f} ms"
    if took_s > MAX_SYNC_S:
        yield Finding("warning", "disk speed", message, "the card stalls or is worn out; replace it")
    else:
        yield Finding("ok", "disk speed", message)


def _synced_write_s(folder: Path) -> float:
    with tempfile.TemporaryFile(dir=folder) as file:
        begun = perf_counter()
        file.write(b"\0" * 4096)
        file.flush()
        os.fsync(file.fileno())
        return perf_counter() - begun


def clock(*, synchronized: bool) -> Finding:
    """Check that the kernel's clock is synchronized."""
    if synchronized:
        return Finding("ok", "clock", "synchronized")
    return Finding(
        "warning",
        "clock",
        "not synchronized; the journal marks its wall times as unsynchronized",
        "connect the machine to a time server, or fit a clock battery; play continues",
    )


def power(machine: Machine) -> Finding:
    """Check a Raspberry Pi's supply voltage and temperature."""
    output = machine.call(("vcgencmd", "get_throttled"))
    try:
        bits = int((output or "").strip().partition("=")[2], 16)
    except ValueError:
        return Finding("unchecked", "power", "vcgencmd does not respond; only a Raspberry Pi has it")
    wrong = [message for bit, message in _THROTTLED.items() if bits >> bit & 1]
    if wrong:
        return Finding("fault", "power", "; ".join(wrong), "check the supply, its cable and the ventilation")
    return Finding("ok", "power", "voltage and temperature are normal")


def watchdog(machine: Machine) -> Finding:
    """Check for the hardware watchdog, which restarts a machine that hangs."""
    model = machine.read("proc/device-tree/model")
    if (machine.root / "dev/watchdog").exists():
        return Finding("ok", "hardware watchdog", "/dev/watchdog exists")
    if model is None:
        return Finding("unchecked", "hardware watchdog", "no /dev/watchdog; this is not a Raspberry Pi")
    return Finding(
        "warning", "hardware watchdog", f"{model}: no /dev/watchdog", "set dtparam=watchdog=on in config.txt"
    )


UNITS = ("table.service", "table-settlement.service")
SCREEN_UNITS = ("table-sign-in.service", "table-console.service")
SIDE_UNITS = (*SCREEN_UNITS, "table-camera.service")
"""Units without a watchdog. Play continues without them; a stopped camera appears as a silent device."""
Report = Mapping[str, object]
SHOWN_BY_SELF_TEST = frozenset({"self_test_waits", "device_missing"})
"""Codes of faults that the self-test's findings report together with their causes."""
CONSOLE = "table-console"
GROUPS: Mapping[str, str] = {
    CONSOLE: "the controller's socket",
    "table-staff": "rulings and approvals",
    "table-technician": "tests, explanations, recordings",
    "dialout": "serial ports",
    "gpio": "GPIO lines",
}
"""The resources that each group of the installed service gives access to."""


def controller(status: Report | None, why: str) -> Iterator[Finding]:
    """Check a running controller's status; `why` is the reason if there is no status."""
    if status is None:
        yield Finding("fault", "controller", why, "systemctl start table, or tablectl run TABLE")
        return
    faults, checks = _list(status.get("faults")), _list(status.get("self_test"))
    summary = f"responding, {status.get('lock')}; its faults are below" if faults else status["headline"]
    yield Finding("ok", "controller", f"{status['table']}: {summary}")
    journal = status.get("journal")
    if isinstance(journal, Mapping) and "verified" in journal:
        if journal["verified"] == "whole":
            message = "its whole chain is verified"
        else:
            message = (
                f"its chain is verified {journal['verified']}; the rest is being verified in the background"
            )
        yield Finding("ok", "running journal", message)
    for fault in faults:
        if fault.get("code") not in SHOWN_BY_SELF_TEST or not checks:
            where = f" at {fault['where']}" if fault.get("where") else ""
            message = f"{fault.get('code')}{where}: {fault.get('found')}"
            remedy = str(
                fault.get("next_step") or f"tablectl faults shows what to do about {fault.get('code')}"
            )
            yield Finding("fault", "active fault", message, remedy)
    for check in checks:
        name, message = str(check.get("name")), str(check.get("says"))
        if not check.get("ok") and not _reported_faults(name, message, faults):
            yield Finding("fault", f"self-test {name}", message, _COMMANDS.get(name, "tablectl faults"))


_COMMANDS = {"devices": "tablectl devices"}


def _reported_faults(name: str, message: str, faults: Sequence[Report]) -> bool:
    """Return whether the active faults already report the finding of a self-test check."""
    if name == "faults":
        return bool(faults)
    return any(fault.get("found") and str(fault["found"]) in message for fault in faults if name == "journal")


def units(machine: Machine) -> Iterator[Finding]:
    """Check the state of the systemd units, and how often each has restarted."""
    for unit in (*UNITS, *SIDE_UNITS):
        properties = unit_properties(
            machine, unit, "LoadState,ActiveState,SubState,NRestarts,WatchdogUSec,Result"
        )
        if properties.get("LoadState") != "loaded":
            yield Finding(
                "unchecked",
                unit,
                "not installed here as a service" if properties else "this machine does not run systemd",
            )
            continue
        state, restarts = properties.get("ActiveState"), properties.get("NRestarts", "0")
        message = f"{state} ({properties.get('SubState')}), restarts: {restarts}"
        remedy = f"systemctl status {unit}; journalctl -u {unit}"
        if state in {"failed", "activating"}:
            yield Finding("fault", unit, f"{message}, {properties.get('Result')}", remedy)
        elif restarts not in {"0", ""}:
            yield Finding(
                "warning", unit, message, f"{remedy} -n 200; systemctl restart {unit} resets the count"
            )
        else:
            yield Finding("ok", unit, message)
        if unit in UNITS and state == "active" and properties.get("WatchdogUSec", "0") in {"0", "infinity"}:
            yield Finding("warning", unit, "no watchdog is configured", "restore WatchdogSec in the unit")


def unit_properties(machine: Machine, unit: str, names: str) -> Mapping[str, str]:
    """Return properties (comma-separated names) of a unit; empty if the machine does not run systemd."""
    output = machine.call(("systemctl", "show", unit, "-p", names))
    return dict(line.partition("=")[::2] for line in (output or "").splitlines())


def caller(user: str, uid: int, active: Collection[int], known: Sequence[grp.struct_group]) -> Finding:
    """Check the rights that this user has through the table's groups.

    `active` are the ids of the groups in effect for this process; `known` are the machine's groups.
    """
    about = f"user {user}"
    if uid == 0:
        return Finding("ok", about, "has all rights")
    groups = {group.gr_name: group for group in known if group.gr_name in GROUPS}
    if CONSOLE not in groups:
        return Finding("unchecked", about, f"no group {CONSOLE}: not installed here as a service")
    own_groups = {name for name, group in groups.items() if group.gr_gid in active}
    added = {name for name, group in groups.items() if user in group.gr_mem} - own_groups
    lacks = [
        f"{name} ({opens})" for name, opens in GROUPS.items() if name in groups and name not in own_groups
    ]
    message = "in " + (
        ", ".join(name for name in GROUPS if name in own_groups) or "none of the table's groups"
    )
    if lacks:
        message += f"; not in {', '.join(lacks)}"
    if added:
        remedy = (
            f"log in again, because {user} has been added to {', '.join(sorted(added))} since the last login"
        )
        return Finding("warning", about, message, remedy)
    if CONSOLE not in own_groups:
        return Finding("unchecked", about, message, f"sudo usermod -aG {CONSOLE} {user}, then log in again")
    return Finding("ok", about, message)


def release(key: Path) -> Finding:
    """Check the program's files against a release signed with a key that this machine trusts."""
    about = "release"
    if not os.path.lexists(key):
        message = f"no release key at {key}, so the program's files are not checked against a signed list"
        return Finding("unchecked", about, message, f"install the manufacturer's public release key as {key}")
    try:
        listed = verify(place_of(), trusted_keys(key))
    except (ReleaseFault, OSError) as error:
        return Finding("fault", about, str(error), "install a signed release again (docs/installing.md)")
    return Finding(
        "ok",
        about,
        f"{listed.release}: {len(listed.files)} files match the list signed with key {listed.key[:16]}",
    )


def _list(value: object) -> Sequence[Report]:
    return value if isinstance(value, list) else ()


SIGN_IN, CONSOLE_UNIT = SCREEN_UNITS
HOST, PORT = "127.0.0.1", 8321
"""Address of `tablectl console` unless its unit sets a different one."""
CONNECT_TIMEOUT_S = 3.0
PRIVATE_MODE, PUBLIC_MODE = 0o600, 0o644
_PROPERTIES = "LoadState,ActiveState,UnitFileState,ExecStart"
_START_SIGN_IN = "systemctl enable --now table-sign-in"
_START_CONSOLE = "systemctl enable --now table-console"


def screens(machine: Machine) -> Iterator[Finding]:
    """Check the sign-in process and the console; no findings if neither is installed."""
    sign_in = unit_properties(machine, SIGN_IN, _PROPERTIES)
    if _unused(sign_in):
        yield Finding("unchecked", "sign-in", "not enabled: nobody can sign in at this table", _START_SIGN_IN)
    elif _installed(sign_in):
        yield from _files(machine.root / FOLDER.removeprefix("/"))
        yield _socket(machine.root / SOCKET.removeprefix("/"), active=sign_in["ActiveState"] == "active")
    console = unit_properties(machine, CONSOLE_UNIT, _PROPERTIES)
    if _unused(console):
        yield Finding("unchecked", "console", "not enabled: this table has no screens", _START_CONSOLE)
    elif _installed(console):
        yield _port(console.get("ExecStart", ""), active=console["ActiveState"] == "active")


def _installed(unit: Mapping[str, str]) -> bool:
    return unit.get("LoadState") == "loaded" and "ActiveState" in unit


def _unused(unit: Mapping[str, str]) -> bool:
    """Return whether the unit is installed but neither enabled nor active, as the installer leaves it."""
    return _installed(unit) and (unit["ActiveState"], unit.get("UnitFileState")) == ("inactive", "disabled")


def _files(folder: Path) -> Iterator[Finding]:
    """Check that only the sign-in user can read the secrets, and that all users can read the public key."""
    if not folder.is_dir():
        yield Finding("fault", "sign-in files", f"{folder}: the folder does not exist", _START_SIGN_IN)
        return
    owner = folder.stat().st_uid
    wrong = list(_wrong_modes(folder, owner))
    for message, remedy in wrong:
        yield Finding("fault", "sign-in files", message, remedy)
    if not (folder / PUBLIC_FILE).exists():
        message = (
            f"{folder / PUBLIC_FILE}: there is no public key; without it, the controller accepts no sign-ins"
            " from screens"
        )
        yield Finding("fault", "sign-in files", message, _START_SIGN_IN)
    elif not wrong:
        yield Finding(
            "ok", "sign-in files", f"{folder}: register and key are private, the public key is readable"
        )
    if not (folder / REGISTER_FILE).exists():
        message = f"{folder / REGISTER_FILE}: there is no register; nobody can sign in yet"
        yield Finding("warning", "people", message, "tablectl people add NAME --role boxperson")


def _wrong_modes(folder: Path, owner: int) -> Iterator[tuple[str, str]]:
    for name in (KEY_FILE, REGISTER_FILE, TRIES_FILE, SCREENS_FILE, PUBLIC_FILE):
        file = folder / name
        with suppress(FileNotFoundError):
            found, expected = file.stat(), PUBLIC_MODE if name == PUBLIC_FILE else PRIVATE_MODE
            if stat.S_IMODE(found.st_mode) != expected:
                message = f"{file}: found mode {stat.S_IMODE(found.st_mode):04o}, expected {expected:04o}"
                yield message, f"chmod {expected:o} {file}"
            if found.st_uid != owner:
                message = f"{file}: found owner {found.st_uid}, expected {owner}, who owns the folder"
                yield message, f"chown --reference={folder} {file}"


def _socket(path: Path, *, active: bool) -> Finding:
    about = "sign-in socket"
    if not path.exists():
        remedy = f"journalctl -u {SIGN_IN}" if active else _START_SIGN_IN
        return Finding("fault", about, f"{path}: the socket does not exist", remedy)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & stat.S_IRWXO:
        message = f"{path}: found mode {mode:04o}, accessible to everybody; expected 0660"
        return Finding("fault", about, message, f"systemctl restart {SIGN_IN}")
    if not os.access(path, os.W_OK):
        return Finding("unchecked", about, f"{path} exists, but is not accessible to this user; run as root")
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(CONNECT_TIMEOUT_S)
        try:
            client.connect(str(path))
        except OSError as error:
            message = f"{path}: no answer ({error.strerror or error})"
            return Finding("fault", about, message, f"systemctl restart {SIGN_IN}")
    return Finding("ok", about, f"{path} accepts connections")


def _port(starts: str, *, active: bool) -> Finding:
    about, (host, port) = "console", _address(starts)
    if not active:
        return Finding(
            "fault", about, f"{host}:{port}: not running", f"journalctl -u {CONSOLE_UNIT}; {_START_CONSOLE}"
        )
    try:
        with socket.create_connection((host, port), CONNECT_TIMEOUT_S):
            return Finding("ok", about, f"{host}:{port} accepts connections")
    except OSError as error:
        message = f"{host}:{port}: no answer ({error.strerror or error})"
        return Finding(
            "fault", about, message, f"journalctl -u {CONSOLE_UNIT}; systemctl restart {CONSOLE_UNIT}"
        )


def _address(starts: str) -> tuple[str, int]:
    """Return the host and port in the unit's command; the loopback address replaces a wildcard address."""
    host = re.search(r"--host[ =](\S+)", starts)
    port = re.search(r"--port[ =](\d+)", starts)
    address = HOST if host is None or host[1] in {"0.0.0.0", "::"} else host[1]  # noqa: S104 - compared, not bound
    return address, PORT if port is None else int(port[1])


RIG = "etc/table/camera.yaml"
DEFAULT_DAYS, DEFAULT_MAX_MB = 90, 2000
"""Limits for a rig file that sets none, as documented in docs/devices/dice-camera.md."""
DAY_S = 86_400
ABOUT = "pictures"
_REMEDY = "tablectl camera evidence prune --rig /etc/table/camera.yaml"


def pictures(machine: Machine, now_s: float) -> Iterator[Finding]:
    """Check the camera's pictures stored on this machine; no findings without a rig file."""
    rig = machine.root / RIG
    if not rig.exists():
        return
    try:
        wanted = parse_document(rig).value
    except SettingsError as error:
        yield Finding("fault", ABOUT, str(error), "tablectl camera run reports the line")
        return
    keys = wanted.get("evidence") if isinstance(wanted, Mapping) else None
    if not isinstance(keys, Mapping):
        yield Finding("unchecked", ABOUT, f"/{RIG} has no `evidence`: no pictures of throws are kept")
        return
    days, max_mb = (
        _number(keys.get(key), default)
        for key, default in (("days", DEFAULT_DAYS), ("max_mb", DEFAULT_MAX_MB))
    )
    folder = Folder(machine.root / str(keys.get("folder", PICTURES_FOLDER)).removeprefix("/"))
    try:
        files = folder.kept()
    except OSError as error:
        message = f"{folder.path}: not readable by this user ({error.strerror}); run as root"
        yield Finding("unchecked", ABOUT, message)
        return
    taken_mb = sum(one.size for one in files) / MB
    age_days = (now_s - files[0].wall_s) / DAY_S if files else 0.0
    message = f"{folder.path}: {len(files)} files with {taken_mb:.0f} MB (limit {max_mb})"
    if files:
        message += f", the oldest {age_days:.0f} days old (limit {days})"
    over = taken_mb > max_mb or age_days > days + 1
    yield Finding("warning" if over else "ok", ABOUT, message, _REMEDY if over else "")


def _number(value: object, default: int) -> int:
    return int(value) if isinstance(value, int | str) and str(value).isdecimal() else default
