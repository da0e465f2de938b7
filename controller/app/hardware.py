"""The connection between the table's devices and the core, for readings, lamps and commands.

This module also reads the boards' key files at startup and after each change.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event, Lock
from types import MappingProxyType
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from controller.app.faults import ActiveFaults, Fault
from controller.app.inlet import Inlet
from controller.app.service import ERROR, NOTICE, log
from controller.engine.resume import CONTROLLER, concerns_earlier_attempt
from controller.engine.session import SETTLEMENT
from controller.model.outcomes import Outcome, SpinNoSpin
from controller.model.readings import (
    AnyReading,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    ForeignObject,
    Input,
    Switch,
    WheelStatus,
    kind_of,
)
from drivers.node.device import KEY, KEY_DIGITS

CREATE_KEY = "to create a key, run: tablectl keys make node FILE"


@runtime_checkable
class KeyedSettings(Protocol):
    """Settings whose key can be in a separate file, to keep secrets out of the table's file."""

    @property
    def key(self) -> str:
        """The key in hexadecimal digits; empty if it is in a file."""
        ...

    @property
    def key_file(self) -> str:
        """The path of the key file; empty if the key is in the settings."""
        ...


class KeyFileError(Exception):
    """An invalid or unreadable key file; the message never shows the key."""

    def __init__(self, found: str, expected: str, hint: str) -> None:
        super().__init__(f"found {found}, expected {expected}; {hint}")
        self.found = found
        self.expected = expected
        self.hint = hint


def key_in(path: Path) -> str:
    """Return the key in this file, as hexadecimal digits; raises KeyFileError."""
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii").strip()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        denied = isinstance(error, PermissionError)
        hint = f"make the controller's user its owner; run: chown table {path}" if denied else CREATE_KEY
        raise KeyFileError(f"an unreadable file {path} ({why})", "a node's key", hint) from error
    except UnicodeDecodeError as error:
        raise KeyFileError("bytes that are not text", KEY_DIGITS, CREATE_KEY) from error
    if mode & stat.S_IRWXO:
        raise KeyFileError(
            f"mode {stat.S_IMODE(mode):04o}", "no access for other users", f"run: chmod 0600 {path}"
        )
    if not KEY.fullmatch(text):
        raise KeyFileError("text that is not a key", KEY_DIGITS, CREATE_KEY)
    return text


class NewKey(NamedTuple):
    """A device's changed key; if `key` is empty, the device now has no key, and `flaw` states the reason."""

    device: str
    key: str
    flaw: str = ""


class _FileState(NamedTuple):
    """File attributes that reveal a change of the file."""

    number: int
    size: int
    mode: int
    written_ns: int
    changed_ns: int


class KeyFiles:
    """The key files of a table's devices; not thread-safe."""

    def __init__(self, settings: Mapping[str, object]) -> None:
        """Watch the key files named in the devices' settings, which also contain the keys read at startup."""
        self._keys = {
            name: (Path(one.key_file), bytes.fromhex(one.key))
            for name, one in settings.items()
            if isinstance(one, KeyedSettings) and one.key_file
        }
        self._states: dict[str, _FileState | None] = {}
        self._flaws: dict[str, str] = {}

    def changes(self) -> Iterator[NewKey]:
        """Yield each key that has changed since the last call."""
        for name, (path, key) in list(self._keys.items()):
            state = _state_of(path)
            if state is not None and self._states.get(name) == state:
                continue
            try:
                found = key_in(path)
            except KeyFileError as error:
                self._states[name] = None  # read the file again at the next call
                if self._flaws.get(name) != str(error):
                    self._flaws[name] = str(error)
                    self._keys[name] = path, b""
                    yield NewKey(name, "", str(error))
                continue
            self._states[name] = state
            self._flaws.pop(name, None)
            if bytes.fromhex(found) != key:
                self._keys[name] = path, bytes.fromhex(found)
                yield NewKey(name, found)


def _state_of(path: Path) -> _FileState | None:
    with suppress(OSError):
        found = os.stat(path)
        return _FileState(found.st_ino, found.st_size, found.st_mode, found.st_mtime_ns, found.st_ctime_ns)
    return None


NO_READS: Mapping[str, Collection[str]] = MappingProxyType({})
BUZZ_MS = 400
BUZZER = "buzzer"
STATUS_S = 1.0
"""Maximum wait for the devices' status values."""
WHEEL_PLAYS = frozenset({2, 3, 4, 7})
"""Smart wheel states in which a void game is acknowledged; in any other state, the next game has begun."""
UNANSWERED = "unanswered"
"""The fault code of a board that did not acknowledge a command; the board's lamps might be incorrect."""
_VOIDS = frozenset({"roll.no_roll", "spin.no_spin", "deal.void"})
_RESULTS = frozenset({"roll.called", "spin.called", "deal.called", "bets.closed"})
_REVIEWS = frozenset({"roll.review", "spin.review", "deal.review"})


class AttachedDevice(Protocol):
    """The methods of a device that this module uses."""

    name: str

    def status(self) -> Mapping[str, object]:
        """Return the device's status values, which technicians can view."""


@runtime_checkable
class Panel(Protocol):
    """A device with lamps; its driver sets the lamps again after each reconnection."""

    def show(self, now_us: int, lamp: str, shows: str) -> None:
        """Set every output that is assigned to this lamp."""


@runtime_checkable
class CommandedBoard(Protocol):
    """A board that accepts commands."""

    name: str

    def command(self, now_us: int, verb: str, fields: Mapping[str, str]) -> int:
        """Send a command; raises ValueError or OverflowError if it can't be sent."""


@runtime_checkable
class AuthenticatedBoard(Protocol):
    """A board whose messages are authenticated with a shared key."""

    def rekey(self, key: str, flaw: str) -> None:
        """Trust only this key; if `key` is empty, trust no key, and report `flaw` as the reason."""


@runtime_checkable
class SmartWheel(Protocol):
    """A wheel that launches the ball and reports the result."""

    def void_game(self, now_us: int) -> None:
        """Acknowledge to the wheel that its game is void."""


Hear = Callable[[AnyReading], object]
Work = Callable[[AttachedDevice, int], None]


class Station(Protocol):
    """The devices and their links, run by a separate thread (`drivers.link.station`)."""

    @property
    def turns(self) -> int:
        """A count that increases while the station's thread is alive."""

    def start(self, hear: Hear) -> None:
        """Start passing readings to `hear`."""

    def stop(self, timeout_s: float) -> bool:
        """End all threads; return False if one does not end in time."""

    def run_on(self, name: str, work: Work) -> None:
        """Run `work` on a device in the station's thread."""


class Hardware:
    """The devices of one table, as a source of readings and as outputs for lamps."""

    def __init__(
        self,
        station: Station,
        names: Mapping[str, str],
        *,
        quiet: bool = False,
        reads: Mapping[str, Collection[str]] = NO_READS,
        faults: ActiveFaults | None = None,
        keys: KeyFiles | None = None,
    ) -> None:
        """Use a station; `names` maps its devices to their types, and `quiet` turns lamps and buzzers off.

        `reads` lists the kinds of readings that each device in the table's file is set up for. A reading of a
        different kind is ignored and reported to `faults`. `keys` are the devices' key files.
        """
        self._quiet = quiet
        self._reads = reads
        self._known = frozenset(kind for kinds in reads.values() for kind in kinds)
        self._faults = faults or ActiveFaults()
        self._keys = keys
        self.name = "devices"
        self._station = station
        self._kinds = names
        self._lock = Lock()
        self._inlet: Inlet | None = None
        self._on = False
        self._before: dict[tuple[str, str], AnyReading] = {}
        self._wanted: dict[str, str] = {}
        self._shown: dict[str, dict[str, str]] = {name: {} for name in names}
        self._wheels: dict[str, int] = {}
        self._tried: dict[str, set[str]] = {}

    @property
    def turns(self) -> int:
        """A count that increases while the station's thread is alive."""
        return self._station.turns

    @property
    def kinds(self) -> Mapping[str, str]:
        """The devices' types by name."""
        return self._kinds

    def power_on(self) -> None:
        """Open the links, so that lamps can be lit before play."""
        if not self._on:
            self._on = True
            self._station.start(self._receive)

    def start(self, inlet: Inlet) -> None:
        """Post the current state of each device and switch, then readings as they arrive."""
        self.power_on()
        with self._lock:
            self._inlet = inlet
            before, self._before = self._before, {}
            for reading in before.values():
                inlet.post(reading, has_time=False)

    def stop(self, timeout_s: float) -> bool:
        """Close all links; return False on a timeout."""
        return self._station.stop(timeout_s) if self._on else True

    def _receive(self, reading: AnyReading) -> None:
        if self._reads and not self._may_send(reading):
            found = f"an input by {reading.by}" if isinstance(reading, Input) else f"a {kind_of(reading)}"
            self._faults.report(
                Fault("reading_not_its_own", reading.dev, found), f"not its own {reading.dev}"
            )
            return
        if isinstance(reading, Input) and reading.name == "confirm_late":
            # Two people must confirm a late wager (C34-MK-1b). Because one person could enter two names on a
            # board, each board is treated as one person.
            reading = msgspec.structs.replace(reading, who=None)
        if isinstance(reading, DeviceUp):
            self._faults.clear("reading_not_its_own", f"not its own {reading.dev}")
        if isinstance(reading, DeviceDown | DeviceUp):
            self._run_on(reading.dev, self._send_all)
        elif isinstance(reading, DeviceFault) and reading.code == UNANSWERED:
            self._run_on(reading.dev, self._forget)
        elif isinstance(reading, WheelStatus):
            self._wheels[reading.dev] = reading.state
        with self._lock:
            if self._inlet is not None:
                self._inlet.post(reading)
            elif isinstance(reading, DeviceUp | DeviceDown | DeviceFault):
                self._before[reading.dev, ""] = reading
            elif isinstance(reading, Switch):
                self._before[reading.dev, reading.name] = reading

    def _may_send(self, reading: AnyReading) -> bool:
        if isinstance(reading, DeviceUp | DeviceDown | DeviceFault | Switch | ForeignObject):
            return True  # An open lid or an object in the wheel must stop play, whichever device reports it.
        kind, its = kind_of(reading), self._reads.get(reading.dev, ())
        if isinstance(reading, Input):
            return kind in its and reading.by not in (SETTLEMENT, CONTROLLER)
        return kind in its or kind not in self._known

    # --- lamps and buzzer ---

    def show(self, lamp: str, shows: str) -> None:
        """Set a lamp at once, and again each time its device reconnects."""
        if self._quiet:
            return
        self._wanted[lamp] = shows
        self.refresh()

    def refresh(self) -> None:
        """Send each device the lamp states that it does not show yet."""
        for name in self._kinds:
            self._run_on(name, self._send_missing)

    def refresh_keys(self) -> None:
        """Pass each replaced or removed key to its device."""
        for new in () if self._keys is None else self._keys.changes():
            log(NOTICE, f"{new.device}: {new.flaw or 'its key file contains a new key'}")
            self._run_on(new.device, partial(_rekey, new=new))

    def try_out(self, name: str, lamp: str, shows: str) -> None:
        """Set one device's lamp or buzzer for a test."""
        self._tried.setdefault(name, set()).add(lamp)
        self._run_on(name, partial(_try, lamp=lamp, shows=shows))

    def end_tries(self) -> None:
        """Restore every lamp that was set for a test."""
        tried, self._tried = self._tried, {}
        for name, lamps in tried.items():
            for lamp in lamps - {BUZZER}:
                self._run_on(name, partial(_try, lamp=lamp, shows=self._wanted.get(lamp, "off")))

    def note_durable(self, outcome: Outcome) -> None:
        """Set lamps and buzzers for an outcome that has become durable."""
        if self._quiet:
            return
        if outcome.type in _VOIDS:
            self.show("no_roll", "on")
            self._void(outcome)
        elif outcome.type in _RESULTS:
            self.show("no_roll", "off")
        if outcome.type in _VOIDS | _REVIEWS or outcome.type == "table.locked":
            for name in self._kinds:
                self._run_on(name, _buzz)

    def _forget(self, device: AttachedDevice, now_us: int) -> None:
        """Forget a board's lamp states, so that all are sent again; a panel's driver restores the lamps."""
        del now_us
        if not isinstance(device, Panel):
            self._shown[device.name].clear()

    def _send_all(self, device: AttachedDevice, now_us: int) -> None:
        self._forget(device, now_us)
        self._send_missing(device, now_us)

    def _send_missing(self, device: AttachedDevice, now_us: int) -> None:
        shown = self._shown[device.name]
        missing = {lamp: shows for lamp, shows in self._wanted.copy().items() if shown.get(lamp) != shows}
        if isinstance(device, Panel):
            for lamp, shows in missing.items():
                device.show(now_us, lamp, shows)
            shown.update(missing)
        elif missing and isinstance(device, CommandedBoard) and _does(device, "lamp"):
            for lamp, shows in missing.items():
                if not _sent(device, now_us, "lamp", {"name": lamp, "shows": shows}):
                    return
                shown[lamp] = shows

    # --- smart wheels ---

    def _void(self, outcome: Outcome) -> None:
        """Acknowledge a void game to each smart wheel whose current game is void."""
        data = outcome.data
        if not isinstance(data, SpinNoSpin):
            return
        if not concerns_earlier_attempt(data.reasons, data.by):
            for name, state in self._wheels.copy().items():
                if state in WHEEL_PLAYS:
                    self._run_on(name, _void_game)

    # --- status ---

    def status(self) -> Mapping[str, Mapping[str, object]]:
        """Return each device's values, read in the station's thread; omit those not read in time."""
        if not self._on:
            return {}
        found: dict[str, Mapping[str, object]] = {}
        done = Event()

        def note(device: AttachedDevice, now_us: int) -> None:
            del now_us
            found[device.name] = device.status()
            if len(found) == len(self._kinds):
                done.set()

        for name in self._kinds:
            self._run_on(name, note)
        done.wait(STATUS_S)
        return found.copy()

    def _run_on(self, name: str, work: Work) -> None:
        if name in self._kinds:
            self._station.run_on(name, work)


def _does(device: AttachedDevice, verb: str) -> bool:
    status = device.status()
    does = status.get("does")
    return status.get("phase") == "up" and isinstance(does, list) and verb in does


def _sent(device: CommandedBoard, now_us: int, verb: str, fields: Mapping[str, str]) -> bool:
    try:
        device.command(now_us, verb, fields)
    except OverflowError:
        return False  # Too many commands are unanswered; a lamp is retried at the next refresh.
    except ValueError as error:
        command = " ".join((verb, *(f"{key}={value}" for key, value in fields.items())))
        log(ERROR, f"{device.name}: can't send the command `{command}`: {error}")
    return True


def _rekey(device: AttachedDevice, now_us: int, *, new: NewKey) -> None:
    del now_us
    if isinstance(device, AuthenticatedBoard):
        device.rekey(new.key, new.flaw)


def _buzz(device: AttachedDevice, now_us: int) -> None:
    if isinstance(device, Panel):
        device.show(now_us, BUZZER, "on")
    elif isinstance(device, CommandedBoard) and _does(device, BUZZER):
        _sent(device, now_us, BUZZER, {"ms": str(BUZZ_MS)})


def _try(device: AttachedDevice, now_us: int, *, lamp: str, shows: str) -> None:
    if isinstance(device, Panel):
        device.show(now_us, lamp, shows)
    elif lamp == BUZZER:
        _buzz(device, now_us)
    elif isinstance(device, CommandedBoard) and _does(device, "lamp"):
        _sent(device, now_us, "lamp", {"name": lamp, "shows": shows})


def _void_game(device: AttachedDevice, now_us: int) -> None:
    if isinstance(device, SmartWheel):
        device.void_game(now_us)
