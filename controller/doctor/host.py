"""The machine: its Python, libraries, disk, clock, power and watchdogs."""

import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from controller.doctor.finding import Finding, Machine, State

PYTHONS = ((3, 11), (3, 13))
SQLITE = (3, 51, 3)
"""Older releases can lose commits when the WAL is reset."""
LOW_BYTES, NO_BYTES = 1 << 30, 100 << 20
SLOW_S = 1.0
"""A commit that takes longer is a card that is worn out, or stalls."""
PACKAGES = {
    "journal": ("apsw", "cryptography"),
    "hardware": ("serial", "gpiozero", "gpiod"),
    "mqtt": ("paho",),
    "settlement": ("sqlalchemy", "fastapi", "uvicorn"),
    "pictures": ("PIL",),
}
"""What each extra brings, by the names that Python knows."""
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
    """Look at the interpreter."""
    found = sys.version_info[:2]
    says = f"Python {sys.version.split()[0]}"
    if PYTHONS[0] <= found <= PYTHONS[1]:
        return Finding("ok", "python", says)
    return Finding("warning", "python", f"{says}, expected 3.11 to 3.13", "install a release that was tested")


def extras(wanted: Collection[str]) -> Iterator[Finding]:
    """Look whether what this table needs is installed."""
    for extra, packages in PACKAGES.items():
        missing = [name for name in packages if find_spec(name) is None]
        if not missing:
            yield Finding("ok", f"extra {extra}", "installed")
        elif extra in wanted:
            says = f"found no package {', '.join(missing)}, expected it installed: this table needs it"
            yield Finding("fault", f"extra {extra}", says, f"make tools, or pip install '.[{extra}]'")
        else:
            yield Finding("ok", f"extra {extra}", "not installed, and this table does without")


def sqlite() -> Finding:
    """Look at the SQLite that writes the journal."""
    try:
        import apsw  # noqa: PLC0415 - a machine without the extra is looked at as well
    except ImportError:
        return Finding("unchecked", "sqlite", "apsw is not installed")
    found = apsw.sqlite_lib_version()
    if tuple(map(int, found.split("."))) >= SQLITE:
        return Finding("ok", "sqlite", found)
    return Finding("fault", "sqlite", f"{found}, expected 3.51.3 or newer", "make tools brings a newer apsw")


def disk(folder: Path) -> Iterator[Finding]:
    """Look at the disk that keeps the journal; writes one small file there and takes it away."""
    place = next((one for one in (folder, *folder.parents) if one.is_dir()), Path("/"))
    if os.statvfs(place).f_flag & os.ST_RDONLY:
        yield Finding(
            "fault", "disk", f"{place}: mounted read-only", "see dmesg; a worn-out card is replaced"
        )
        return
    free = shutil.disk_usage(place).free
    state: State = "ok" if free >= LOW_BYTES else "warning" if free >= NO_BYTES else "fault"
    remedy = "" if state == "ok" else "move old recordings away; the table locks where nothing is left"
    yield Finding(state, "disk", f"{place}: {free / 1e9:.1f} GB free", remedy)
    if not os.access(place, os.W_OK | os.X_OK):
        yield Finding("unchecked", "disk speed", f"{place}: this user may not write there; run as root")
        return
    took_s = _commit_s(place)
    says = f"a synced write took {took_s * 1000:.0f} ms"
    if took_s > SLOW_S:
        yield Finding("warning", "disk speed", says, "the card stalls or is worn out: replace it")
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
    """Look whether the kernel trusts its wall clock."""
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
    told = machine.call(("vcgencmd", "get_throttled"))
    try:
        bits = int((told or "").strip().partition("=")[2], 16)
    except ValueError:
        return Finding("unchecked", "power", "no vcgencmd here that answers: only a Raspberry Pi tells")
    wrong = [says for bit, says in _THROTTLED.items() if bits >> bit & 1]
    if wrong:
        return Finding("fault", "power", "; ".join(wrong), "check supply, cable and airing")
    return Finding("ok", "power", "voltage and temperature are well")


def watchdog(machine: Machine) -> Finding:
    """Look for the hardware watchdog that restarts a machine which hangs as a whole."""
    model = machine.read("proc/device-tree/model")
    if (machine.root / "dev/watchdog").exists():
        return Finding("ok", "hardware watchdog", "/dev/watchdog is there")
    if model is None:
        return Finding("unchecked", "hardware watchdog", "no /dev/watchdog; this is no Raspberry Pi")
    return Finding(
        "warning", "hardware watchdog", f"{model}: no /dev/watchdog", "dtparam=watchdog=on in config.txt"
    )
