"""The doctor's checks of the machine: Python, disk, clock, power, units, screens, a camera's pictures."""

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
    """What was checked, its state, and what to do if it is not well."""

    state: State
    about: str
    says: str
    remedy: str = ""


Call = Callable[[Sequence[str]], str | None]
"""Runs a program and returns its output; None if it is not there or failed."""


class Machine(NamedTuple):
    """The machine under the table: its files from this root on, and its programs."""

    root: Path
    call: Call

    def read(self, name: str) -> str | None:
        """Return a file's text; None if it is missing or closed to this user."""
        try:
            return (self.root / name).read_text(encoding="utf-8", errors="replace").rstrip("\0\n")
        except OSError:
            return None


PYTHONS = ((3, 11), (3, 13))
SQLITE = (3, 51, 3)
"""Older releases can lose commits when the WAL is reset."""
LOW_BYTES, NO_BYTES = 1 << 30, 100 << 20
SLOW_S = 1.0
"""A commit that takes longer means a card that is worn out, or stalls."""
PACKAGES = {
    "journal": ("apsw", "cryptography"),
    "hardware": ("serial", "gpiozero", "gpiod"),
    "mqtt": ("paho",),
    "settlement": ("sqlalchemy", "fastapi", "uvicorn"),
    "pictures": ("PIL",),
}
"""What each extra brings, by the names of Python's modules."""
_THROTTLED = {
    0: "the voltage is too low",
    1: "the processor is slowed down",
    2: "the processor is throttled",
    3: "it is too hot",
    16: "the voltage was too low since the start",
    18: "the processor was throttled since the start",
    19: "it was too hot since the start",
}
"""The bits of `vcgencmd get_throttled`, as the Raspberry Pi's documentation has them."""


def python() -> Finding:
    """Check the Python release."""
    found = sys.version_info[:2]
    says = f"Python {sys.version.split()[0]}"
    if PYTHONS[0] <= found <= PYTHONS[1]:
        return Finding("ok", "python", says)
    return Finding("warning", "python", f"{says}, expected 3.11 to 3.13", "install a tested release")


def extras(wanted: Collection[str]) -> Iterator[Finding]:
    """Check that what this table needs is installed."""
    for extra, packages in PACKAGES.items():
        missing = [name for name in packages if find_spec(name) is None]
        if not missing:
            yield Finding("ok", f"extra {extra}", "installed")
        elif extra in wanted:
            says = f"found no package {', '.join(missing)}, expected it installed: this table needs it"
            yield Finding("fault", f"extra {extra}", says, f"make tools, or pip install '.[{extra}]'")
        else:
            yield Finding("ok", f"extra {extra}", "not installed, and not needed by this table")


def sqlite() -> Finding:
    """Check the SQLite that writes the journal."""
    try:
        import apsw  # noqa: PLC0415 - a machine without the extra is looked at as well
    except ImportError:
        return Finding("unchecked", "sqlite", "apsw is not installed")
    found = apsw.sqlite_lib_version()
    if tuple(map(int, found.split("."))) >= SQLITE:
        return Finding("ok", "sqlite", found)
    return Finding("fault", "sqlite", f"{found}, expected 3.51.3 or newer", "make tools brings a newer apsw")


def disk(folder: Path) -> Iterator[Finding]:
    """Check the disk that holds the journal; writes one small file there and removes it."""
    place = next((one for one in (folder, *folder.parents) if one.is_dir()), Path("/"))
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        yield Finding("fault", "disk", f"{place}: mounted read-only", "see dmesg; replace a worn-out card")
        return
    free = shutil.disk_usage(place).free
    state: State = "ok" if free >= LOW_BYTES else "warning" if free >= NO_BYTES else "fault"
    remedy = "" if state == "ok" else "move old recordings away; the table locks when the disk is full"
    yield Finding(state, "disk", f"{place}: {free / 1e9:.1f} GB free", remedy)
    if not os.access(place, os.W_OK | os.X_OK):
        yield Finding("unchecked", "disk speed", f"{place}: this user may not write there; run as root")
        return
    try:
        took_s = _commit_s(place)
    except OSError as error:
        says = f"{place}: a small file could not be written ({error.strerror or error})"
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        remedy = (
            "free space on it: move old recordings away" if full else "see dmesg; replace a worn-out card"
        )
        yield Finding("fault", "disk speed", says, remedy)
        return
    says = f"a synced write took {took_s * 1000:.0f} ms"
    if took_s > SLOW_S:
        yield Finding("warning", "disk speed", says, "the card stalls or is worn out; replace it")
    else:
        yield Finding("ok", "disk speed", says)


def _commit_s(folder: Path) -> float:
    with tempfile.TemporaryFile(dir=folder) as file:
        begun = perf_counter()
        file.write(b"\0" * 4096)
        file.flush()
        os.fsync(file.fileno())
        return perf_counter() - begun


def clock(*, synchronized: bool) -> Finding:
    """Check whether the kernel's clock is synchronized."""
    if synchronized:
        return Finding("ok", "clock", "synchronized")
    return Finding(
        "warning",
        "clock",
        "not synchronized: wall times in the journal are marked so",
        "connect a time server, or fit a clock battery; play goes on",
    )


def power(machine: Machine) -> Finding:
    """Ask a Raspberry Pi whether its supply and its temperature are well."""
    output = machine.call(("vcgencmd", "get_throttled"))
    try:
        bits = int((output or "").strip().partition("=")[2], 16)
    except ValueError:
        return Finding("unchecked", "power", "vcgencmd does not answer: only a Raspberry Pi reports this")
    wrong = [says for bit, says in _THROTTLED.items() if bits >> bit & 1]
    if wrong:
        return Finding("fault", "power", "; ".join(wrong), "check power supply, cable and ventilation")
    return Finding("ok", "power", "voltage and temperature are normal")


def watchdog(machine: Machine) -> Finding:
    """Check for the hardware watchdog, which restarts a machine that hangs as a whole."""
    model = machine.read("proc/device-tree/model")
    if (machine.root / "dev/watchdog").exists():
        return Finding("ok", "hardware watchdog", "/dev/watchdog is there")
    if model is None:
        return Finding("unchecked", "hardware watchdog", "no /dev/watchdog; this is no Raspberry Pi")
    return Finding(
        "warning", "hardware watchdog", f"{model}: no /dev/watchdog", "dtparam=watchdog=on in config.txt"
    )


UNITS = ("table.service", "table-settlement.service")
SCREEN_UNITS = ("table-sign-in.service", "table-console.service")
SIDE_UNITS = (*SCREEN_UNITS, "table-camera.service")
"""Units without a watchdog: play goes on without them, and a stopped camera is a silent device."""
Told = Mapping[str, object]
TOLD_BY_CHECKS = frozenset({"self_test_waits", "device_missing"})
"""Faults that the self-test's own lines already report, each with its cause."""
CONSOLE = "table-console"
GROUPS: Mapping[str, str] = {
    CONSOLE: "the controller's socket",
    "table-staff": "rulings and approvals",
    "table-technician": "tests, explanations, recordings",
    "dialout": "serial ports",
    "gpio": "GPIO lines",
}
"""What each group of the installed unit lets its members use."""


def controller(status: Told | None, why: str) -> Iterator[Finding]:
    """Check a running controller's status; `why` is the reason if there is none."""
    if status is None:
        yield Finding("fault", "controller", why, "systemctl start table, or tablectl run TABLE")
        return
    faults, checks = _list(status.get("faults")), _list(status.get("self_test"))
    stands = f"answers, {status.get('lock')}; its faults follow" if faults else status["headline"]
    yield Finding("ok", "controller", f"{status['table']}: {stands}")
    journal = status.get("journal")
    if isinstance(journal, Mapping) and "verified" in journal:
        later = "" if journal["verified"] == "whole" else "; the rest is being read in the background"
        yield Finding("ok", "journal at work", f"its chain is verified {journal['verified']}{later}")
    for fault in faults:
        if fault.get("code") not in TOLD_BY_CHECKS or not checks:
            where = f" at {fault['where']}" if fault.get("where") else ""
            says = f"{fault.get('code')}{where}: {fault.get('found')}"
            remedy = str(
                fault.get("next_step") or f"tablectl faults says what to do about {fault.get('code')}"
            )
            yield Finding("fault", "standing fault", says, remedy)
    for check in checks:
        name, says = str(check.get("name")), str(check.get("says"))
        if not check.get("ok") and not _reported_faults(name, says, faults):
            yield Finding("fault", f"self-test {name}", says, _SHOWS.get(name, "tablectl faults"))


_SHOWS = {"devices": "tablectl devices"}
"""The command that shows more about a check of the self-test."""


def _reported_faults(name: str, says: str, faults: Sequence[Told]) -> bool:
    """Return whether the active faults include what this check of the self-test reports."""
    if name == "faults":
        return bool(faults)
    return any(fault.get("found") and str(fault["found"]) in says for fault in faults if name == "journal")


def units(machine: Machine) -> Iterator[Finding]:
    """Ask systemd for the units' states, and how often each was restarted."""
    for unit in (*UNITS, *SIDE_UNITS):
        words = unit_properties(machine, unit, "LoadState,ActiveState,SubState,NRestarts,WatchdogUSec,Result")
        if words.get("LoadState") != "loaded":
            yield Finding(
                "unchecked", unit, "not installed here as a service" if words else "no systemd here"
            )
            continue
        state, again = words.get("ActiveState"), words.get("NRestarts", "0")
        says = f"{state} ({words.get('SubState')}), started again {again} times"
        remedy = f"systemctl status {unit}; journalctl -u {unit}"
        if state in {"failed", "activating"}:
            yield Finding("fault", unit, f"{says}, {words.get('Result')}", remedy)
        elif again not in {"0", ""}:
            yield Finding(
                "warning", unit, says, f"{remedy} -n 200; systemctl restart {unit} resets the count"
            )
        else:
            yield Finding("ok", unit, says)
        if unit in UNITS and state == "active" and words.get("WatchdogUSec", "0") in {"0", "infinity"}:
            yield Finding("warning", unit, "no watchdog is configured", "restore the unit's own WatchdogSec")


def unit_properties(machine: Machine, unit: str, names: str) -> Mapping[str, str]:
    """Return these properties (comma-separated names) of a unit; nothing if there is no systemd."""
    output = machine.call(("systemctl", "show", unit, "-p", names))
    return dict(line.partition("=")[::2] for line in (output or "").splitlines())


def caller(user: str, uid: int, session: Collection[int], known: Sequence[grp.struct_group]) -> Finding:
    """Check what this user's groups permit; `session`: the groups in effect, `known`: the machine's."""
    about = f"user {user}"
    if uid == 0:
        return Finding("ok", about, "may see and do everything")
    there = {group.gr_name: group for group in known if group.gr_name in GROUPS}
    if CONSOLE not in there:
        return Finding("unchecked", about, f"no group {CONSOLE}: not installed here as a service")
    mine = {name for name, group in there.items() if group.gr_gid in session}
    given = {name for name, group in there.items() if user in group.gr_mem} - mine
    lacks = [f"{name} ({opens})" for name, opens in GROUPS.items() if name in there and name not in mine]
    says = f"in {', '.join(name for name in GROUPS if name in mine) or 'none of the groups of the table'}"
    if lacks:
        says += f"; not in {', '.join(lacks)}"
    if given:
        return Finding("warning", about, says, f"log in again: {', '.join(sorted(given))} was added since")
    if CONSOLE not in mine:
        return Finding("unchecked", about, says, f"sudo usermod -aG {CONSOLE} {user}, then log in again")
    return Finding("ok", about, says)


def release(key: Path) -> Finding:
    """Return whether the program is, file by file, a release that a key trusted on this machine signed."""
    about = "release"
    if not os.path.lexists(key):
        says = f"no release key at {key}: the program's files are not checked against a signed list"
        return Finding("unchecked", about, says, f"put the maker's public release key into {key}")
    try:
        listed = verify(place_of(), trusted_keys(key))
    except (ReleaseFault, OSError) as error:
        return Finding("fault", about, str(error), "install a signed release again (docs/installing.md)")
    return Finding(
        "ok", about, f"{listed.release}: {len(listed.files)} files as key {listed.key[:16]} signed them"
    )


def _list(value: object) -> Sequence[Told]:
    return value if isinstance(value, list) else ()


SIGN_IN, CONSOLE_UNIT = SCREEN_UNITS
HOST, PORT = "127.0.0.1", 8321
"""Where `tablectl console` serves unless its unit says otherwise."""
PATIENCE_S = 3.0
PRIVATE, PUBLIC = 0o600, 0o644
_PROPERTIES = "LoadState,ActiveState,UnitFileState,ExecStart"
_START_SIGN_IN = "systemctl enable --now table-sign-in"
_START_CONSOLE = "systemctl enable --now table-console"


def screens(machine: Machine) -> Iterator[Finding]:
    """Check what signs people in and what serves the screens; nothing if neither is installed."""
    sign_in = unit_properties(machine, SIGN_IN, _PROPERTIES)
    if _unused(sign_in):
        yield Finding("unchecked", "sign-in", "not enabled: nobody signs in at this table", _START_SIGN_IN)
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
    """Return whether the unit is installed but not enabled: the installer puts it on every table."""
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
        yield Finding("ok", "sign-in files", f"{folder}: register and key are private, the public key is not")
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
    """Connect to the sign-in process's socket."""
    about = "sign-in socket"
    if not path.exists():
        remedy = f"journalctl -u {SIGN_IN}" if active else _START_SIGN_IN
        return Finding("fault", about, f"{path}: found no socket, expected one", remedy)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & stat.S_IRWXO:
        says = f"{path}: found mode {mode:04o}, open to everybody; expected 0660"
        return Finding("fault", about, says, f"systemctl restart {SIGN_IN}")
    if not os.access(path, os.W_OK):
        return Finding("unchecked", about, f"{path} is there, but not accessible to this user; run as root")
    with socket.socket(socket.AF_UNIX) as knock:
        knock.settimeout(PATIENCE_S)
        try:
            knock.connect(str(path))
        except OSError as error:
            says = f"{path}: no answer ({error.strerror or error})"
            return Finding("fault", about, says, f"systemctl restart {SIGN_IN}")
    return Finding("ok", about, f"{path}: accepts connections")


def _port(starts: str, *, active: bool) -> Finding:
    """Connect to the console's port, as its unit has it."""
    about, (host, port) = "console", _address(starts)
    if not active:
        return Finding(
            "fault", about, f"{host}:{port}: not running", f"journalctl -u {CONSOLE_UNIT}; {_START_CONSOLE}"
        )
    try:
        with socket.create_connection((host, port), PATIENCE_S):
            return Finding("ok", about, f"{host}:{port}: accepts connections")
    except OSError as error:
        says = f"{host}:{port}: no answer ({error.strerror or error})"
        return Finding(
            "fault", about, says, f"journalctl -u {CONSOLE_UNIT}; systemctl restart {CONSOLE_UNIT}"
        )


def _address(starts: str) -> tuple[str, int]:
    """Read the address out of the unit's command; one that stands for all is asked on this machine."""
    host = re.search(r"--host[ =](\S+)", starts)
    port = re.search(r"--port[ =](\d+)", starts)
    named = HOST if host is None or host[1] in {"0.0.0.0", "::"} else host[1]  # noqa: S104 - it is compared
    return named, PORT if port is None else int(port[1])


RIG = "etc/table/camera.yaml"
DAYS, MAX_MB = 90, 2000
"""The limits of a rig that names none, as its page documents them."""
DAY_S = 86_400
ABOUT = "pictures"
_REMEDY = "tablectl camera evidence prune --rig /etc/table/camera.yaml"


def pictures(machine: Machine, now_s: float) -> Iterator[Finding]:
    """Check what a camera of this machine keeps; nothing if it has no rig file, or the rig keeps none."""
    rig = machine.root / RIG
    if not rig.exists():
        return
    try:
        wanted = parse_document(rig).value
    except SettingsError as error:
        yield Finding("fault", ABOUT, str(error), "tablectl camera run names the line")
        return
    keys = wanted.get("evidence") if isinstance(wanted, Mapping) else None
    if not isinstance(keys, Mapping):
        yield Finding("unchecked", ABOUT, f"/{RIG} has no `evidence`: no pictures of throws are kept")
        return
    days, max_mb = (_number(keys.get(key), usual) for key, usual in (("days", DAYS), ("max_mb", MAX_MB)))
    folder = Folder(machine.root / str(keys.get("folder", PICTURES_FOLDER)).removeprefix("/"))
    try:
        files = folder.kept()
    except OSError as error:
        says = f"{folder.path}: found it not readable ({error.strerror}); its group and root may read it"
        yield Finding("unchecked", ABOUT, says)
        return
    taken_mb = sum(one.size for one in files) / MB
    age_days = (now_s - files[0].wall_s) / DAY_S if files else 0.0
    says = (
        f"{folder.path}: {len(files)} files, {taken_mb:.0f} of {max_mb} MB, the oldest {age_days:.0f} of"
        f" {days} days"
    )
    over = taken_mb > max_mb or age_days > days + 1
    yield Finding("warning" if over else "ok", ABOUT, says, _REMEDY if over else "")


def _number(value: object, usual: int) -> int:
    return int(value) if isinstance(value, int | str) and str(value).isdecimal() else usual
