"""A table's own devices, in and out: their readings go to the core, lamps and commands go to them."""

from collections.abc import Callable, Mapping
from functools import partial
from threading import Event, Lock
from typing import Protocol, runtime_checkable

from controller.app.inlet import Inlet
from controller.app.log import ERROR, log
from controller.model.outcomes import Outcome, SpinNoSpin
from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp, Switch, WheelStatus

BUZZ_MS = 400
BUZZER = "buzzer"
STATUS_S = 1.0
"""The devices' thread has so long to say how each of them is."""
WHEEL_PLAYS = frozenset({2, 3, 4, 7})
"""The states of a smart wheel in which a void game is acknowledged; in the others the next one has begun."""
UNANSWERED = "unanswered"
"""A board's fault where it did not acknowledge a command: it may not show what it was told to."""
_VOIDS = frozenset({"roll.no_roll", "spin.no_spin", "deal.void"})
_RESULTS = frozenset({"roll.called", "spin.called", "deal.called", "bets.closed"})
_REVIEWS = frozenset({"roll.review", "spin.review", "deal.review"})
_NOBODY = "nobody"


class Device(Protocol):
    """A device as this module needs it."""

    name: str

    def status(self) -> Mapping[str, object]:
        """Give what a technician wants to know of it."""


@runtime_checkable
class Panel(Protocol):
    """A device with lamps of its own, which it lights again by itself when its lines come back."""

    def show(self, now_us: int, lamp: str, shows: str) -> None:
        """Have every output that follows this lamp show it."""


@runtime_checkable
class Commanded(Protocol):
    """A board that is told by commands."""

    def command(self, now_us: int, verb: str, fields: Mapping[str, str]) -> int:
        """Send a command; raises ValueError or OverflowError where it can't be."""


@runtime_checkable
class SmartWheel(Protocol):
    """A wheel that plays by itself."""

    def void_game(self, now_us: int) -> None:
        """Acknowledge a void game."""


Hear = Callable[[AnyReading], object]
Work = Callable[[Device, int], None]


class Station(Protocol):
    """The devices behind their links, with a thread of their own (`drivers.link.station`)."""

    @property
    def turns(self) -> int:
        """Give a number that goes up while its thread is alive."""

    def start(self, hear: Hear) -> None:
        """Hand on every reading from now on."""

    def stop(self, timeout_s: float) -> bool:
        """End all threads; False where one does not end in time."""

    def ask(self, name: str, work: Work) -> None:
        """Let the station's thread do something with a device."""


class Hardware:
    """The devices of one table as a source of readings, and as what shows its lamps."""

    def __init__(self, station: Station, names: Mapping[str, str]) -> None:
        """Take a station with devices of these names, each with its kind."""
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
        """Give the turns of the station's thread."""
        return self._station.turns

    @property
    def kinds(self) -> Mapping[str, str]:
        """Give each device's kind by its name."""
        return self._kinds

    def power_on(self) -> None:
        """Open the links, so that lamps can be lit while nothing is played yet."""
        if not self._on:
            self._on = True
            self._station.start(self._hear)

    def start(self, inlet: Inlet) -> None:
        """Post every reading from now on, beginning with how each device and switch is now."""
        self.power_on()
        with self._lock:
            self._inlet = inlet
            before, self._before = self._before, {}
            for reading in before.values():
                inlet.post(reading, stamped=False)

    def stop(self, timeout_s: float) -> bool:
        """Close all links."""
        return self._station.stop(timeout_s) if self._on else True

    def _hear(self, reading: AnyReading) -> None:
        if isinstance(reading, DeviceDown | DeviceUp):
            self._ask(reading.dev, self._bring_all)
        elif isinstance(reading, DeviceFault) and reading.code == UNANSWERED:
            self._ask(reading.dev, self._forget)
        elif isinstance(reading, WheelStatus):
            self._wheels[reading.dev] = reading.state
        with self._lock:
            if self._inlet is not None:
                self._inlet.post(reading)
            elif isinstance(reading, DeviceUp | DeviceDown | DeviceFault):
                self._before[reading.dev, ""] = reading
            elif isinstance(reading, Switch):
                self._before[reading.dev, reading.name] = reading

    # --- lamps and buzzer ---

    def show(self, lamp: str, shows: str) -> None:
        """Have a lamp show this from now on, at once and again after every reconnection."""
        self._wanted[lamp] = shows
        self.refresh()

    def refresh(self) -> None:
        """Bring every device what it does not show yet."""
        for name in self._kinds:
            self._ask(name, self._bring)

    def try_out(self, name: str, lamp: str, shows: str) -> None:
        """Let one device's lamp, or its buzzer, show something for a test; nothing else changes."""
        self._tried.setdefault(name, set()).add(lamp)
        self._ask(name, partial(_try, lamp=lamp, shows=shows))

    def end_tries(self) -> None:
        """Let every lamp that was tried out show again what it should."""
        tried, self._tried = self._tried, {}
        for name, lamps in tried.items():
            for lamp in lamps - {BUZZER}:
                self._ask(name, partial(_try, lamp=lamp, shows=self._wanted.get(lamp, "off")))

    def told(self, outcome: Outcome) -> None:
        """Let the table be heard and seen of what was just told for good."""
        if outcome.type in _VOIDS:
            self.show("no_roll", "on")
            self._void(outcome)
        elif outcome.type in _RESULTS:
            self.show("no_roll", "off")
        if outcome.type in _VOIDS | _REVIEWS or outcome.type == "table.locked":
            for name in self._kinds:
                self._ask(name, _buzz)

    def _forget(self, device: Device, now_us: int) -> None:
        """Doubt what a board shows; a panel is lit again by its own device."""
        del now_us
        if not isinstance(device, Panel):
            self._shown[device.name].clear()

    def _bring_all(self, device: Device, now_us: int) -> None:
        self._forget(device, now_us)
        self._bring(device, now_us)

    def _bring(self, device: Device, now_us: int) -> None:
        shown = self._shown[device.name]
        missing = {lamp: shows for lamp, shows in self._wanted.copy().items() if shown.get(lamp) != shows}
        if isinstance(device, Panel):
            for lamp, shows in missing.items():
                device.show(now_us, lamp, shows)
            shown.update(missing)
        elif missing and isinstance(device, Commanded) and _does(device, "lamp"):
            for lamp, shows in missing.items():
                if not _said(device, now_us, "lamp", {"name": lamp, "shows": shows}):
                    return
                shown[lamp] = shows

    # --- smart wheels ---

    def _void(self, outcome: Outcome) -> None:
        """Acknowledge the void of the game that the wheel plays now; of an older one it knows nothing."""
        data = outcome.data
        if not isinstance(data, SpinNoSpin):
            return
        past = data.by == _NOBODY or any(reason.code == "power_lost" for reason in data.reasons)
        if not past:
            for name, state in self._wheels.copy().items():
                if state in WHEEL_PLAYS:
                    self._ask(name, _void_game)

    # --- status ---

    def status(self) -> Mapping[str, Mapping[str, object]]:
        """Give what each device says of itself, asked in the devices' thread; what is late is left out."""
        if not self._on:
            return {}
        found: dict[str, Mapping[str, object]] = {}
        done = Event()

        def note(device: Device, now_us: int) -> None:
            del now_us
            found[device.name] = device.status()
            if len(found) == len(self._kinds):
                done.set()

        for name in self._kinds:
            self._ask(name, note)
        done.wait(STATUS_S)
        return found.copy()

    def _ask(self, name: str, work: Work) -> None:
        if name in self._kinds:
            self._station.ask(name, work)


def _does(device: Device, verb: str) -> bool:
    status = device.status()
    does = status.get("does")
    return status.get("phase") == "up" and isinstance(does, list) and verb in does


def _said(device: Commanded, now_us: int, verb: str, fields: Mapping[str, str]) -> bool:
    try:
        device.command(now_us, verb, fields)
    except OverflowError:
        return False  # Its commands are not answered: it is asked again at the next refresh.
    except ValueError as error:
        log(ERROR, f"{verb} {dict(fields)} can't be said to a board: {error}")
    return True


def _buzz(device: Device, now_us: int) -> None:
    if isinstance(device, Panel):
        device.show(now_us, BUZZER, "on")
    elif isinstance(device, Commanded) and _does(device, BUZZER):
        _said(device, now_us, BUZZER, {"ms": str(BUZZ_MS)})


def _try(device: Device, now_us: int, *, lamp: str, shows: str) -> None:
    if isinstance(device, Panel):
        device.show(now_us, lamp, shows)
    elif lamp == BUZZER:
        _buzz(device, now_us)
    elif isinstance(device, Commanded) and _does(device, "lamp"):
        _said(device, now_us, "lamp", {"name": lamp, "shows": shows})


def _void_game(device: Device, now_us: int) -> None:
    if isinstance(device, SmartWheel):
        device.void_game(now_us)
