"""The simulation behind `tablectl simulate`: people at a table, and its hardware on pseudo-terminals."""

import argparse
import errno
import os
import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, TextIO, cast, get_args

import msgspec

from controller.cli.practice import Practice
from controller.cli.screen import Screen
from controller.cli.shell import OK, on_stop, own_name, say
from controller.cli.words import wall_clock
from controller.model.geometry import DiceTable
from controller.model.homography import Pair
from controller.model.printable import printable
from controller.model.tables import TableSettings
from controller.people.register import PUBLIC_FILE
from controller.settings.places import config_file, is_path
from controller.settings.tables import load_table
from controller.settings.yaml_text import Document, Value, parse_document
from drivers.sim.boards import SHOE_SETTINGS as SHOE
from drivers.sim.boards import Sensor
from drivers.sim.faults import DeviceKind, Schedule
from drivers.sim.scenes import Expected, FaultBegan, FaultOver, PlayedAttempt, Story
from drivers.sim.setting import (
    RenderedThrows,
    UnplayableTableError,
    first_guess,
    for_practice,
    types_for,
    virtual_table,
    with_own_cameras,
    with_rendered_camera,
    with_technician,
)
from drivers.sim.ss2_wheel import APPROVED, MODE
from drivers.sim.stage import FAULT_PIPE, Clock, FolderLock, PacedClock, RealClock, Stage
from drivers.sim.table import Act, build_act

if TYPE_CHECKING:
    from drivers.sim.rendered_throws import FilmedThrow

MEAN_FAULT_INTERVAL_S = 20.0
"""Mean interval between the faults of `--faults`."""
_FIRST_FAULT_US = 15_000_000
_KINDS: tuple[str, ...] = get_args(DeviceKind)
_MAX_FOLDER_BYTES = 90
"""Maximum length of the folder's path, in bytes: the 107 bytes of a socket's path, less the longest name in
the folder."""
_THROWS_PER_SEED = 1_000_003
"""Throws reserved for each seed; up to this number, runs with different seeds have no throw in common."""


class ThrowRenderer:
    """A run's rendered throws; the same seed produces the same throws.

    A throw takes several seconds of CPU time. A separate process computes the next throw while the virtual
    table keeps its devices alive.
    """

    def __init__(self, seed: int, table: DiceTable) -> None:
        """Start computing the first throw.

        Raises:
            ImportError: the `physics` or `vision` extra is not installed.
        """
        from drivers.sim.rendered_throws import throw  # noqa: PLC0415 - optional dependencies

        self._throw = throw
        # Spawn the process, because a forked process would keep the virtual table's ports open. The
        # process ignores Ctrl-C, because the simulation closes the pool when it ends.
        self._pool = ProcessPoolExecutor(
            1, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
        )
        self._table = table
        self._number = seed * _THROWS_PER_SEED
        self._next = self._submit()

    def ready(self) -> bool:
        """Return whether the next throw has been computed."""
        return self._next.done()

    def play(self, _seed: int, _count: int, _after_fault: bool, /) -> Act:
        """Wait for the next throw and return it; start computing the following throw."""
        filmed = self._next.result()
        self._next = self._submit()
        return build_act(filmed.feed, [filmed.scene])

    def close(self) -> None:
        """Stop the process after the current throw."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self) -> "Future[FilmedThrow]":
        self._number += 1
        return self._pool.submit(self._throw, self._number, self._table)


class Simulation:
    """One run of `tablectl simulate`."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Create the folder, the table's file, the ports and the virtual devices behind them."""
        self._arguments = arguments
        path = config_file("tables", arguments.table)
        settings = load_table(str(path))
        document = parse_document(path)
        self._stopping = Event()
        boards = boards_in(document, settings)
        types = types_for(settings, boards)
        types = {name: _type_in(document, name) or kind for name, kind in types.items()}
        seed, guess = arguments.seed, None
        self._closing: list[Callable[[], None]] = []
        self._practice: Practice | None = None
        if arguments.staff == "me":
            self._practice = Practice(settings, Screen(sys.stdout), self._stopping, seed=seed)
            self._table = for_practice(
                settings,
                types,
                seed=seed,
                report=self._print,
                attempts=arguments.throws,
                boards=boards,
                cue=self._practice.cue,
                begun=self._practice.begun,
                stage=self._practice.stage,
            )
        elif arguments.technician:
            types = with_own_cameras(settings, types)
            guess = None if settings.dice_table is None else first_guess(settings.dice_table)
            self._table = with_technician(settings, types, seed=seed, report=self._print, boards=boards)
        elif arguments.camera == "rendered":
            self._table = with_rendered_camera(
                settings,
                types,
                self._rendered,
                seed=seed,
                report=self._print,
                attempts=arguments.throws,
                boards=boards,
            )
        else:
            self._table = virtual_table(
                settings, types, seed=seed, report=self._print, attempts=arguments.throws, boards=boards
            )
        folder = arguments.dir or Path(tempfile.mkdtemp(prefix=f"{settings.table}-"))
        self._folder = folder.resolve()
        length = len(os.fsencode(self._folder))
        if length > _MAX_FOLDER_BYTES:
            found = f"found a path of {length} bytes, expected at most {_MAX_FOLDER_BYTES}"
            why = (
                "because the path of a socket in the folder must not exceed 107 bytes; choose a shorter --dir"
            )
            raise OSError(errno.ENAMETOOLONG, f"{found}, {why}", str(self._folder))
        self._folder.mkdir(parents=True, exist_ok=True)
        self._claim = FolderLock(self._folder)
        self._truth_file: TextIO = (self._folder / "truth.jsonl").open("w", encoding="utf-8")
        clock: Clock = (
            RealClock() if arguments.speed == 1 else PacedClock(arguments.speed, self._folder / "clock")
        )
        self._clock = clock
        self._stage = Stage(self._table, self._folder, clock, say)
        self._file = self._folder / "table.yaml"
        self._file.write_text(table_file(document, path, self._folder, types, guess), encoding="utf-8")
        self._calls = settings.calls

    def run(self) -> int:
        """Run the simulation; return the exit code."""
        on_stop(self._stopping.set)
        if self._practice is not None:
            return self._practise(self._practice)
        self._introduce()
        if self._arguments.faults is not None:
            schedule = Schedule(self._table, self._arguments.faults, every_s=MEAN_FAULT_INTERVAL_S)
            schedule.start(self._clock.now_us() + _FIRST_FAULT_US)
        try:
            self._stage.run(lambda: self._stopping.is_set() or self._has_ended())
        finally:
            for close in self._closing:
                close()
            self._truth_file.close()
            self._claim.release()
        print("the virtual table is switched off")
        return OK

    def _rendered(self, seed: int, felt: DiceTable) -> RenderedThrows:
        throws = ThrowRenderer(seed, felt)
        self._closing.append(throws.close)
        return throws

    def _practise(self, practice: Practice) -> int:
        try:
            return practice.run(self._stage, self._table, self._folder, self._file)
        finally:
            self._truth_file.close()
            self._claim.release()

    def _has_ended(self) -> bool:
        return self._table.over and self._table.is_faultless and not self._arguments.technician

    def _introduce(self) -> None:
        folder, name = shlex.quote(str(self._folder)), shlex.quote(str(self._file))
        devices = ", ".join(self._table.cables)
        tablectl = own_name()
        screen = Screen(sys.stdout)
        sentences = [
            f"Virtual hardware in {folder}: {devices}.",
            f"The table's file with these ports is {name}.",
        ]
        if self._calls == "confirm":
            sentences.append(
                "The file sets `calls: automatic`, because no virtual person confirms proposed calls."
            )
        for sentence in sentences:
            screen.lines(screen.wrapped(sentence, 0))
        key = f"--sign-in-key {folder}/people/{PUBLIC_FILE}"
        print(f"\n  {tablectl} run {name} --journal {folder}/journal --socket {folder}/control.sock {key}")
        print(f"  {tablectl} watch --socket {folder}/control.sock")
        first = next(iter(self._table.cables))
        request = shlex.quote(f'{{"fault": "unplug", "device": "{first}"}}')
        print(f"  echo {request} > {folder}/{FAULT_PIPE}      ({tablectl} simulate --list-faults)")
        if self._arguments.technician:
            print(f"  {tablectl} test {first} --socket {folder}/control.sock")
            nobody = "There are no players; a technician follows the instructions of `test` and `calibrate`."
            screen.lines(screen.wrapped(nobody, 0))
        screen.lines(
            (
                "",
                *screen.wrapped(
                    f"The ground truth is written to {folder}/truth.jsonl. Ctrl-C ends the simulation.", 0
                ),
                "",
            )
        )
        if self._arguments.speed != 1:
            say(
                f"the clock runs at {self._arguments.speed:g} times real time;"
                f" only a program that follows {folder}/clock can keep up"
            )
        sys.stdout.flush()

    def _print(self, story: Story) -> None:
        self._truth_file.write(msgspec.json.encode(story).decode() + "\n")
        self._truth_file.flush()
        if self._practice is not None:
            return
        print(f"{wall_clock(time.time_ns() // 1000)}  {printable(story_line(story))}", flush=True)


def story_line(story: Story) -> str:
    """Return a line about a ground-truth event of the simulation."""
    match story:
        case PlayedAttempt(attempt=attempt, scene=scene, disturbed_by=faults):
            truth = scene.truth
            what = (truth.dice and f"{truth.dice[0]}-{truth.dice[1]}") or truth.number or _ending(truth.told)
            why = f" ({', '.join(truth.reasons)})" if truth.reasons else ""
            under = f"; during {', '.join(faults)}" if faults else ""
            return f"#{attempt} {scene.kind}: {truth.verdict} {what}{why}".rstrip() + under
        case FaultBegan(fault=fault, device=device, seconds=seconds, sees=sees):
            return f"fault {fault} {device} for {seconds:g} s: {sees}"
        case FaultOver(fault=fault, device=device):
            return f"fault {fault} {device} has ended"


def _ending(outcomes: Sequence[Expected]) -> str:
    """Return the end of a card game: the winner's outcome or, if nobody won, the last outcome."""
    if not outcomes:
        return ""
    last = next((each for each in outcomes if each["type"] == "game.won"), outcomes[-1])
    data = cast("Mapping[str, object]", last["data"])
    return " ".join([str(last["type"]), *(f"seat {data[key]}" for key in ("player",) if key in data)])


def table_file(
    document: Document,
    path: Path,
    folder: Path,
    types: Mapping[str, DeviceKind],
    guess: Sequence[Pair] | None = None,
) -> str:
    """Return a table's file with virtual ports; `guess` is the calibration for its scripted cameras."""
    import yaml  # noqa: PLC0415 - only this command writes YAML

    assert isinstance(document.value, dict)
    value: dict[str, Value] = dict(document.value)
    ruleset = value.get("ruleset")
    if isinstance(ruleset, str) and is_path(ruleset):
        value["ruleset"] = str((path.parent / ruleset).resolve())
    value["calls"] = "automatic"
    devices = value["devices"]
    assert isinstance(devices, dict)
    value["devices"] = {
        name: {**_sensors(section), **_port(types[name], name, folder, guess)} if name in types else section
        for name, section in devices.items()
    }
    text: str = yaml.safe_dump(value, sort_keys=False, width=110)
    return f"# Written by tablectl simulate: a table whose devices are virtual.\n{text}"


def _sensors(section: Value) -> dict[str, Value]:
    """Return the keys that describe a device's readings; those that describe its port are replaced."""
    assert isinstance(section, dict)
    return {key: section[key] for key in ("reads", "wall", "channels") if key in section}


def _port(kind: DeviceKind, name: str, folder: Path, guess: Sequence[Pair] | None) -> dict[str, Value]:
    reached: dict[str, Value] = {"type": kind, "port": str(folder / name)}
    match kind:
        case "node":
            return {**reached, "node": name}
        case "json-camera":
            points: list[Value] = [[*seen, *place] for seen, place in guess or ()]
            return {**reached, "clock": "own", **({"calibration": points} if points else {})}
        case "ss2":
            approved: Value = {letter: list(values) for letter, values in APPROVED.items()}
            return {**reached, "approved": approved, "approved_mode": int(MODE)}
        case "shoe":
            codes = cast("Mapping[str, Value]", SHOE)
            return {**reached, **codes}


def _type_in(document: Document, name: str) -> DeviceKind | None:
    """Return the device type in the file, or None if it can't be simulated."""
    kind = section_of(document, name).get("type")
    return cast("DeviceKind", kind) if kind in _KINDS else None


def boards_in(document: Document, settings: TableSettings) -> Mapping[str, Mapping[int, Sensor]]:
    """Return each board's sensors by channel; raises UnplayableTableError for an invalid channel."""
    return {
        name: dict(sensors)
        for name in settings.devices
        if (sensors := [*_sensors_on(document, name, settings)])
    }


def section_of(document: Document, name: str) -> Mapping[str, Value]:
    """Return a device's section of the file, or an empty mapping."""
    devices = document.value.get("devices") if isinstance(document.value, dict) else None
    section = devices.get(name) if isinstance(devices, dict) else None
    return section if isinstance(section, dict) else {}


def _sensors_on(document: Document, name: str, settings: TableSettings) -> Iterator[tuple[int, Sensor]]:
    channels = section_of(document, name).get("channels")
    for number, channel in channels.items() if isinstance(channels, dict) else ():
        section = channel if isinstance(channel, dict) else {}
        dev, fields = section.get("dev"), section.get("fields", {})
        device = settings.devices.get(dev) if isinstance(dev, str) else None
        if device is None or not number.isdecimal() or not isinstance(fields, dict):
            raise UnplayableTableError(
                f"devices.{name}.channels.{number}: found {channel!r},"
                " expected a whole number as the key, a mapping as `fields`, and a `dev` that is one of"
                f" {', '.join(settings.devices)}"
            )
        written = {*fields, "wall"} if device.wall else {*fields}
        yield int(number), Sensor(str(dev), tuple(device.reads), frozenset(written))
