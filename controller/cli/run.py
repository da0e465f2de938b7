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
from controller.app.options import JOURNAL, SOCKET, Options, mistakes_in, others_at_work
from controller.app.peers import Groups
from controller.app.publishing import EngineMaker, UnfitSettings
from controller.app.view import Drawn
from controller.cli.shell import collector_paused, on_stop, say, startup_frozen
from controller.machines.setup import SetupError
from controller.model.tables import PublishSettings, TableSettings
from controller.publish.betting import OpenStatement
from controller.publish.embedded import Consumer, EngineFor
from controller.publish.events import Answer
from controller.settings.mistakes import Mistake, SettingsError
from controller.settings.tables import load_table

EXAMPLES = (
    "tablectl run VIRTUAL/table.yaml --journal VIRTUAL/journal --socket VIRTUAL/control.sock",
    "tablectl run craps --shadow --journal /var/lib/shadow --socket /run/table/shadow.sock",
)

SWITCH_S = 0.0005
"""How long a busy thread may hold the interpreter: with Python's 5 ms a reading waits up to 12 ms."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    runtime, state = os.environ.get("RUNTIME_DIRECTORY"), os.environ.get("STATE_DIRECTORY")
    parser.add_argument("table", metavar="TABLE", help="a table's name, or the path of its .yaml file")
    parser.add_argument(
        "--journal",
        type=Path,
        default=Path((state or JOURNAL).partition(":")[0]),
        metavar="DIR",
        help=f"folder of journal and recordings (default: $STATE_DIRECTORY, else {JOURNAL})",
    )
    parser.add_argument(
        "--head", type=Path, metavar="FILE", help="the journal's head file, best on another medium"
    )
    parser.add_argument("--key", type=Path, metavar="FILE", help="the signing key (default: DIR/table.key)")
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
        help="take readings as JSON lines from a FIFO, unix socket or - (standard input: the table stops at"
        " its end), instead of the table's devices",
    )
    parser.add_argument(
        "--data-time",
        action="store_true",
        help="take the time from the readings' arrivals (for simulated evenings)",
    )
    parser.add_argument(
        "--unlock",
        choices=("automatic", "person"),
        default="automatic",
        help="who unlocks after the self-test (default: automatic)",
    )
    parser.add_argument(
        "--no-self-test-devices", action="store_true", help="do not wait for the table's devices"
    )
    parser.add_argument(
        "--shadow",
        action="store_true",
        help="watch a table that is run by hand: publish nothing, light no lamp, keep a journal of its own;"
        " tablectl shadow compares its calls with what the dealers entered",
    )
    parser.add_argument(
        "--screen-group", metavar="GROUP", help="the unix group of the process behind the screens"
    )
    parser.add_argument(
        "--sign-in-key", type=Path, metavar="FILE", help="the sign-in process's public key (tablectl sign_in)"
    )
    parser.add_argument(
        "--release-key",
        type=Path,
        metavar="FILE",
        help="the public release keys that are believed: where this file is, the table stays locked unless"
        " every file of the program is as one of them signed it (tablectl release)",
    )
    for role in ("staff", "technician", "settlement"):
        parser.add_argument(f"--{role}-group", metavar="GROUP", help=f"the unix group of {role}")
    parser.add_argument("--socket-group", metavar="GROUP", help="the unix group that reaches the socket")


def run(arguments: argparse.Namespace) -> int:
    """Run until SIGTERM; the exit codes are those of `controller.app.service`."""
    try:
        with collector_paused():
            daemon = _prepared(arguments)
            on_stop(daemon.stop)
            control = _opened(daemon)
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
        # First the socket: what is entered from now on could not be obeyed any more.
        control.stop()
        code = daemon.close()
    return code


def _prepared(arguments: argparse.Namespace) -> Daemon:
    """Create the daemon for these arguments without opening anything; raises every mistake at once."""
    options, environ = _options(arguments), dict(os.environ)
    settings: TableSettings | None = None
    wrong: list[Mistake] = []
    try:
        settings = load_table(options.table) if options.readings else load_with_hardware(options.table)
    except SettingsError as error:
        wrong.extend(error.mistakes)
    wrong.extend(mistakes_in(options, environ))
    others = tuple(others_at_work(options))
    if wrong or settings is None:
        raise SettingsError((*wrong, *others))
    if options.shadow:
        settings = in_the_shadow(settings)
    if others:
        raise InUseError("\n".join(map(str, others)))
    return Daemon(
        options,
        settings,
        environ=environ,
        sources=_sources(options, settings),
        engine=None if options.shadow else engine_maker(),
        chance=random.random,
        draw=_draw,
    )


def in_the_shadow(settings: TableSettings) -> TableSettings:
    """Return a table's settings for a shadow: it calls automatically and publishes nothing."""
    unheard = PublishSettings(to="socket", max_silence_s=math.inf)
    return dataclasses.replace(settings, calls="automatic", publish=unheard)


def _draw(journal: Path, number: int) -> Drawn:
    from controller.technician.pictures import picture_of  # noqa: PLC0415 - many evenings show no picture

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


def _opened(daemon: Daemon) -> Control:
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
    """Return the factory of the engine; None if the extra `settlement` is not installed."""
    return _Late if find_spec("sqlalchemy") is not None else None


class _Late(Consumer):
    """Loads the engine in its own thread: importing its database library takes too long for a start."""

    def __init__(self, asked: EngineFor) -> None:
        self._asked = asked
        self._engine: Consumer | None = None

    def begin(self) -> None:
        self._loaded().begin()

    def take(self, event: bytes, answer: Callable[[Answer], None]) -> None:
        self._loaded().take(event, answer)

    def hear(self, word: OpenStatement) -> None:
        if self._engine is not None:
            self._engine.hear(word)

    def end(self) -> None:
        if self._engine is not None:
            self._engine.end()

    def _loaded(self) -> Consumer:
        if self._engine is None:
            from controller.settlement_service.embedded import EmbeddedEngine  # noqa: PLC0415 - see the class

            self._engine = EmbeddedEngine(
                self._asked, lambda: time.time_ns() // 1000, lambda: secrets.token_hex(16)
            )
        return self._engine
