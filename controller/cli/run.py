"""`tablectl run`: the daemon of one table."""

import argparse
import dataclasses
import math
import os
import random
import secrets
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from controller.app import service
from controller.app.control import Control
from controller.app.daemon import Daemon, InUseError
from controller.app.device_types import hardware_of, load_with_hardware
from controller.app.inlet import JsonLines, Source
from controller.app.options import JOURNAL, SOCKET, Options, mistakes_in, running_controllers
from controller.app.peers import Groups
from controller.app.publishing import EngineMaker, UnfitSettings
from controller.app.view import AttemptDrawing
from controller.cli.shell import collector_paused, on_stop, say, startup_frozen
from controller.machines.setup import SetupError
from controller.model.tables import PublishSettings, TableSettings
from controller.publish.betting import OpenStatement
from controller.publish.embedded import Consumer, EngineSetup
from controller.publish.events import Answer
from controller.settings.mistakes import Mistake, SettingsError
from controller.settings.tables import load_table

EXAMPLES = (
    "tablectl run VIRTUAL/table.yaml --journal VIRTUAL/journal --socket VIRTUAL/control.sock",
    "tablectl run craps --shadow --journal /var/lib/shadow --socket /run/table/shadow.sock",
)

SWITCH_S = 0.0005
"""The interpreter's thread switch interval; with the default, 5 ms, a reading can wait for 12 ms."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    runtime, state = os.environ.get("RUNTIME_DIRECTORY"), os.environ.get("STATE_DIRECTORY")
    parser.add_argument("table", metavar="TABLE", help="a table's name, or the path of its .yaml file")
    parser.add_argument(
        "--journal",
        type=Path,
        default=Path((state or JOURNAL).partition(":")[0]),
        metavar="DIR",
        help=f"the folder for the journal and the recordings (default: $STATE_DIRECTORY, else {JOURNAL})",
    )
    parser.add_argument(
        "--head", type=Path, metavar="FILE", help="the journal's head file, preferably on another disk"
    )
    parser.add_argument(
        "--key",
        type=Path,
        metavar="FILE",
        help="the table's signing key (default: table.key in the journal's folder)",
    )
    parser.add_argument(
        "--socket",
        type=Path,
        default=Path(runtime, "control.sock") if runtime else Path(SOCKET),
        metavar="PATH",
        help=f"the control socket (default: $RUNTIME_DIRECTORY/control.sock, else {SOCKET})",
    )
    parser.add_argument(
        "--readings",
        metavar="PATH",
        help="receive readings as JSON lines from a FIFO, a Unix socket or - (standard input; the table stops"
        " when the input ends) instead of from the table's devices",
    )
    parser.add_argument(
        "--data-time",
        action="store_true",
        help="take the time from the arrival times in the readings (for simulated play)",
    )
    parser.add_argument(
        "--unlock",
        choices=("automatic", "person"),
        default="automatic",
        help="how the table is unlocked once its self-test has passed (default: automatic)",
    )
    parser.add_argument(
        "--no-self-test-devices", action="store_true", help="unlock without waiting for the devices"
    )
    parser.add_argument(
        "--shadow",
        action="store_true",
        help="watch a table that people run: publish nothing, light no lamp, keep a separate journal;"
        " `tablectl shadow` compares the shadow's calls with the dealers' entries",
    )
    parser.add_argument("--screen-group", metavar="GROUP", help="the Unix group of `tablectl console`")
    parser.add_argument(
        "--sign-in-key",
        type=Path,
        metavar="FILE",
        help="the public key of `tablectl sign_in`, which signs people in at screens",
    )
    parser.add_argument(
        "--release-key",
        type=Path,
        metavar="FILE",
        help="the file of trusted public release keys; if it exists, the table remains locked unless every"
        " program file matches a list signed with one of the keys (see `tablectl release`)",
    )
    for role in ("staff", "technician", "settlement"):
        parser.add_argument(
            f"--{role}-group", metavar="GROUP", help=f"the Unix group whose members have the role {role}"
        )
    parser.add_argument(
        "--socket-group", metavar="GROUP", help="the Unix group that may connect to the control socket"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the daemon until it stops; return an exit code of `controller.app.service`."""
    try:
        with collector_paused():
            daemon = _daemon(arguments)
            on_stop(daemon.stop)
            control = _open(daemon)
    except (SettingsError, SetupError, UnfitSettings, LookupError, OSError) as error:
        say(error)
        return service.BAD_SETTINGS
    except InUseError as error:
        say(error)
        return service.IN_USE
    sys.setswitchinterval(SWITCH_S)
    control.start()
    try:
        with startup_frozen():
            daemon.run()
    finally:
        # Close the socket first, because an input that arrives now can no longer be processed.
        control.stop()
        code = daemon.close()
    return code


def _daemon(arguments: argparse.Namespace) -> Daemon:
    """Create the daemon for these arguments, without opening anything.

    Raises:
        SettingsError: the table's file or the options have mistakes; the error lists all of them.
        InUseError: another controller uses the journal or the socket.
    """
    options, environ = _options(arguments), dict(os.environ)
    settings: TableSettings | None = None
    wrong: list[Mistake] = []
    try:
        settings = load_table(options.table) if options.readings else load_with_hardware(options.table)
    except SettingsError as error:
        wrong.extend(error.mistakes)
    wrong.extend(mistakes_in(options, environ))
    others = tuple(running_controllers(options))
    if wrong or settings is None:
        raise SettingsError((*wrong, *others))
    if options.shadow:
        settings = shadow_settings(settings)
    if others:
        raise InUseError("\n".join(map(str, others)))
    return Daemon(
        options,
        settings,
        environ=environ,
        sources=_sources(options, settings),
        engine=None if options.shadow else engine_maker(),
        random_fraction=random.random,
        draw=_draw,
    )


def shadow_settings(settings: TableSettings) -> TableSettings:
    """Return a table's settings for a shadow, which calls automatically and publishes nothing."""
    unpublished = PublishSettings(to="socket", max_silence_s=math.inf)
    return dataclasses.replace(settings, calls="automatic", publish=unpublished)


def _draw(journal: Path, number: int) -> AttemptDrawing:
    from controller.technician.pictures import picture_of  # noqa: PLC0415 - rarely needed

    return picture_of(journal, number)


def _sources(options: Options, settings: TableSettings) -> tuple[Callable[[Daemon], Source], ...]:
    path = options.readings
    if path is not None:
        return (
            lambda daemon: JsonLines(
                path,
                daemon.faults,
                daemon.clock.now_us,
                data_time=options.data_time,
                ended=daemon.input_ended,
            ),
        )
    if any(device.settings is not None for device in settings.devices.values()):
        return (
            lambda daemon: hardware_of(
                settings, daemon.clock.now_us, quiet=options.shadow, faults=daemon.faults
            ),
        )
    return ()


def _open(daemon: Daemon) -> Control:
    """Open the daemon and its control socket; if the socket can't be opened, close the daemon."""
    options = daemon.options
    daemon.open()
    try:
        return Control(daemon, options.socket, options.groups, options.socket_group)
    except BaseException:
        daemon.close()
        raise


def _options(arguments: argparse.Namespace) -> Options:
    return Options(
        table=arguments.table,
        journal=arguments.journal,
        head=arguments.head,
        key=arguments.key,
        socket=arguments.socket,
        readings=arguments.readings,
        data_time=arguments.data_time,
        shadow=arguments.shadow,
        self_test_devices=not arguments.no_self_test_devices,
        unlock=arguments.unlock,
        groups=Groups(
            arguments.staff_group,
            arguments.technician_group,
            arguments.settlement_group,
            arguments.screen_group,
        ),
        sign_in_key=arguments.sign_in_key,
        release_key=arguments.release_key,
        socket_group=arguments.socket_group,
    )


def engine_maker() -> EngineMaker | None:
    """Return the embedded settlement engine's factory; None if the `settlement` extra is not installed."""
    return _LazyEngine if find_spec("sqlalchemy") is not None else None


class _LazyEngine(Consumer):
    """Imports the engine in the engine's thread, because the database library would delay the start."""

    def __init__(self, setup: EngineSetup) -> None:
        self._setup = setup
        self._engine: Consumer | None = None

    def begin(self) -> None:
        self._load_engine().begin()

    def take(self, event: bytes, answer: Callable[[Answer], None]) -> None:
        self._load_engine().take(event, answer)

    def receive_statement(self, statement: OpenStatement) -> None:
        if self._engine is not None:
            self._engine.receive_statement(statement)

    def end(self) -> None:
        if self._engine is not None:
            self._engine.end()

    def _load_engine(self) -> Consumer:
        if self._engine is None:
            from controller.settlement_service.embedded import EmbeddedEngine  # noqa: PLC0415 - see the class

            self._engine = EmbeddedEngine(
                self._setup, lambda: time.time_ns() // 1000, lambda: secrets.token_hex(16)
            )
        return self._engine
