"""The devices in a table file, with the readings that they send and their hardware settings.

The kinds of hardware are passed as an argument, so this package imports no driver. Without this argument,
only the `type`, `reads` and `wall` of each device are read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, is_dataclass, make_dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from controller.model.readings import Wall
from controller.model.tables import DeclaredDevice, DeviceReading, KeyPath, ReportedDevice, ResourceClaim
from controller.settings.document import validate
from controller.settings.mistakes import Mistake, SettingsError, did_you_mean, one_of
from controller.settings.yaml_text import Document, Value


class DeviceMistake(NamedTuple):
    """A mistake in a device's settings. `at` is the key path within the device."""

    at: KeyPath
    found: str
    expected: str
    hint: str = ""


class DeviceKind(Protocol):
    """The properties of a kind of hardware that a table file's loader uses."""

    @property
    def settings(self) -> type:
        """The dataclass of the hardware's settings."""

    def reported_devices(self, name: str, settings: object) -> Iterable[ReportedDevice]:
        """Return the devices of the table whose readings the device `name` sends."""

    def claims(self, settings: object) -> Iterable[ResourceClaim]:
        """Return the resources that no other device may use, such as a port or a line."""

    def mistakes(self, settings: object, folder: Path) -> Iterable[DeviceMistake]:
        """Return the mistakes that only the kind can find, such as an invalid key. `folder` is the table
        file's folder."""


DeviceKinds = Mapping[str, DeviceKind]


@dataclass(frozen=True, slots=True, kw_only=True)
class BareDevice:
    """A device without a type. Its readings come from another device, a script or a log."""

    reads: tuple[DeviceReading, ...] = ()
    """The kinds of reading that the device sends.

    While the device is down, these readings are treated as missing, so their absence proves nothing.
    """
    wall: Wall | None = None
    """The wall on which a wall sensor is mounted."""


def shape_of(name: str, kind: DeviceKind) -> type:
    """Return the dataclass for a device of this kind: its settings with `type`, `reads` and `wall`."""
    assert is_dataclass(kind.settings)
    return make_dataclass(
        f"{kind.settings.__name__}OfTable",
        [
            ("type", Literal[name]),
            ("reads", tuple[DeviceReading, ...], ()),
            ("wall", Wall | None, None),
        ],
        bases=(kind.settings,),
        frozen=True,
        kw_only=True,
    )


class Devices:
    """The devices in a file. Each is read separately, so that the mistakes in all of them are reported."""

    def __init__(self, document: Document, kinds: DeviceKinds | None, folder: Path) -> None:
        """Read the devices. `mistakes` then lists all mistakes in them."""
        self.mistakes: list[Mistake] = []
        self._document = document
        self._kinds = kinds
        self._reported: dict[str, ReportedDevice] = {}
        self._senders: dict[str, str] = {}
        self._complete = True
        written = document.value.get("devices") if isinstance(document.value, dict) else None
        sections = written if isinstance(written, dict) else {}
        self._names = tuple(sections)
        self._read = {
            name: read
            for name, section in sections.items()
            if isinstance(section, dict) and (read := self._device(name, section)) is not None
        }
        self._complete = len(self._read) == len(sections)
        if kinds is not None:
            self._join(kinds, folder)

    @property
    def devices(self) -> Mapping[str, DeclaredDevice]:
        """The devices without mistakes, each with the readings that its hardware supplies."""
        return {name: self._fill_in(name, device) for name, device in self._read.items()}

    @property
    def complete(self) -> bool:
        """Whether all readings of the devices are known.

        All devices must be readable, and each device with a type must list its readings or be of a known
        kind.
        """
        known = all(device.reads or not device.type for device in self._read.values())
        return self._complete and (known or self._kinds is not None)

    def _device(self, name: str, section: Mapping[str, Value]) -> DeclaredDevice | None:
        word = section.get("type")
        if word is None and "type" not in section:
            return self._bare(name, section)
        if self._kinds is None:
            bare = self._bare(name, {key: section[key] for key in ("reads", "wall") if key in section})
            return None if bare is None else DeclaredDevice(reads=bare.reads, wall=bare.wall, type=str(word))
        kind = self._kinds.get(word) if isinstance(word, str) else None
        if kind is None:
            hint = did_you_mean(word, self._kinds)
            found = "nothing" if word is None else repr(word)
            self._add_mistake(name, DeviceMistake(("type",), found, one_of(sorted(self._kinds)), hint))
            return None
        settings: Any = self._validated(name, section, shape_of(str(word), kind))  # Any: the kind's own shape
        if settings is None:
            return None
        return DeclaredDevice(reads=settings.reads, wall=settings.wall, type=str(word), settings=settings)

    def _bare(self, name: str, section: Mapping[str, Value]) -> DeclaredDevice | None:
        bare = self._validated(name, section, BareDevice)
        return DeclaredDevice(reads=bare.reads, wall=bare.wall) if isinstance(bare, BareDevice) else None

    def _validated(self, name: str, section: Mapping[str, Value], shape: type) -> object | None:
        alone = Document({"devices": {name: dict(section)}}, self._document.positions)
        around = make_dataclass("OneDevice", [("devices", dict[str, shape])])  # type: ignore[valid-type]  # made above
        try:
            read: object = validate(alone, around).devices[name]
        except SettingsError as error:
            self.mistakes += error.mistakes
            return None
        return read

    # --- checks across devices ---

    def _join(self, kinds: DeviceKinds, folder: Path) -> None:
        claimed: dict[str, str] = {}
        for name, device in self._read.items():
            if device.settings is None:
                continue
            kind = kinds[device.type]
            for mistake in kind.mistakes(device.settings, folder):
                self._add_mistake(name, mistake)
            for claim in kind.claims(device.settings):
                first = claimed.setdefault(claim.what, name)
                if first != name:
                    expected = f"one that no other device uses; {first} already uses it"
                    self._add_mistake(name, DeviceMistake(claim.at, claim.what, expected))
            for reported in kind.reported_devices(name, device.settings):
                self._add_reported(name, reported)
        if any(device.type for device in self._read.values()):
            self._find_silent(kinds)

    def _add_reported(self, sender: str, reported: ReportedDevice) -> None:
        dev = reported.dev
        if dev not in self._names:
            hint = did_you_mean(dev, self._names) or f"add {dev} to the devices"
            self._add_mistake(
                sender,
                DeviceMistake(reported.at, f"'{dev}'", f"a device in this file: {one_of(self._names)}", hint),
            )
        existing = self._read.get(dev)
        if existing is None:
            return
        if dev != sender and existing.type:
            expected = f"a device without a type; {dev} sends its own readings"
            self._add_mistake(sender, DeviceMistake(reported.at, f"'{dev}'", expected))
        before = self._senders.setdefault(dev, sender)
        if before != sender:
            expected = f"only one device that sends its readings; {before} already does"
            self._add_mistake(sender, DeviceMistake(reported.at, f"'{dev}'", expected))
            return
        self._reported[dev] = self._combine(sender, self._reported.get(dev), reported)
        self._compare(dev, existing, self._reported[dev])

    def _combine(self, sender: str, before: ReportedDevice | None, now: ReportedDevice) -> ReportedDevice:
        """Combine the entries of two of `sender`'s sensors that name the same device of the table."""
        if before is None:
            return now
        if before.wall and now.wall and before.wall != now.wall:
            expected = f"one wall per device; another of its sensors is at the {before.wall} wall"
            hint = "name a different `dev` for each wall"
            self._add_mistake(sender, DeviceMistake(now.at, f"the {now.wall} wall", expected, hint))
        kinds = None if before.kinds is None or now.kinds is None else (*before.kinds, *now.kinds)
        wall, switches = before.wall or now.wall, before.switches or now.switches
        return ReportedDevice(now.at, now.dev, kinds and tuple(dict.fromkeys(kinds)), wall, switches)

    def _compare(self, dev: str, written: DeclaredDevice, reported: ReportedDevice) -> None:
        if written.wall and reported.wall and written.wall != reported.wall:
            expected = f"'{reported.wall}', the wall in its sensor's settings"
            self._add_mistake(
                dev, DeviceMistake(("wall",), f"'{written.wall}'", expected, "delete it here, or correct it")
            )

    def _find_silent(self, kinds: DeviceKinds) -> None:
        for name, device in self._read.items():
            if not device.type and name not in self._reported and self._complete:
                hint = "or name it as the `dev` of another device's channel or input"
                expected = f"a type: {one_of(sorted(kinds))}"
                self._add_mistake(
                    name,
                    DeviceMistake(
                        ("type",), "no type, and no other device sends its readings", expected, hint
                    ),
                )
            reported = self._reported.get(name)
            if reported is None or reported.kinds is None:
                continue
            for place, kind in enumerate(device.reads):
                if kind not in reported.kinds:
                    expected = f"a kind that it sends: {one_of(reported.kinds)}"
                    self._add_mistake(
                        name, DeviceMistake(("reads", place), f"'{kind}'", expected, "delete it")
                    )

    def _fill_in(self, name: str, device: DeclaredDevice) -> DeclaredDevice:
        reported = self._reported.get(name)
        if reported is None:
            return device
        return DeclaredDevice(
            reads=device.reads or reported.kinds or (),
            wall=device.wall or reported.wall,
            type=device.type,
            settings=device.settings,
            switches=reported.switches,
        )

    def may_omit_reads(self, name: str) -> bool:
        """Return whether `reads` may be empty.

        The device must send other devices' readings, or its kind must be unknown here.
        """
        for_others = any(sender == name and dev != name for dev, sender in self._senders.items())
        return for_others or (self._kinds is None and bool(self._read[name].type))

    def _add_mistake(self, name: str, mistake: DeviceMistake) -> None:
        at = ("devices", name, *mistake.at)
        self.mistakes.append(self._document.mistake(at, mistake.found, mistake.expected, mistake.hint))
