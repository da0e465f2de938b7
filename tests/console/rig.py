"""A table, its sign-in process and its console, each in its own process."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from controller.model.readings import AnyReading
from controller.people.register import PUBLIC_FILE, REGISTER_FILE, new_register, read_register, write_register
from tests.app.rig import PATIENCE_S, Table, lines_of, tick, until
from tests.processes import Forked
from tests.scenes import SECOND_US

PEOPLE = {
    "ann": (("boxperson", "supervisor"), "1234"),
    "bob": (("dealer",), "2345"),
    "cleo": (("stickperson",), "3456"),
    "tom": (("technician",), "4567"),
    "dan": (("stickperson",), "5678"),
}
CARD = "0049300117"
TICK_S = 0.03


@dataclass
class Screens:
    """A table with its console. Its clock runs in real time, and the readings of a scene are fed together."""

    folder: Path
    name: str = "craps"
    table: Table = field(init=False)
    url: str = ""
    _processes: dict[str, Forked] = field(default_factory=dict)
    _t_us: int = 10 * SECOND_US
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)
    _clock: threading.Thread | None = None

    def __post_init__(self) -> None:
        people = self.folder / "people"
        people.mkdir()
        register = new_register()
        for name, (roles, pin) in PEOPLE.items():
            register = register.with_person(name, roles, pin, CARD if name == "bob" else None)
        write_register(people / REGISTER_FILE, register)
        self.table = Table(
            self.folder,
            self.name,
            arguments=(
                "--data-time",
                "--no-self-test-devices",
                "--unlock",
                "person",
                "--sign-in-key",
                str(people / PUBLIC_FILE),
            ),
        )

    @property
    def kept(self) -> Path:
        return self.folder / "kept"

    def start(self, *, unlock: bool = True) -> Self:
        """Start the sign-in process, the table and the console, and wait until each is ready."""
        self.start_sign_in()
        self.start_table(unlock=unlock)
        self.start_console()
        return self

    def start_sign_in(self) -> None:
        self._run(
            "sign_in", "--people", str(self.folder / "people"), "--socket", str(self.folder / "sign-in")
        )

    def start_table(self, *, unlock: bool = True) -> None:
        self.table.start(watch=False)
        if unlock:
            self.table.feed([tick(self._t_us)])
            self.table.unlock()
        self.resume()

    def start_console(self, *arguments: str) -> None:
        """Start the console at its previous port, if any, and store its address."""
        line = self._run(
            "console", "--socket", self.table.socket, "--sign-in", str(self.folder / "sign-in"),
            "--port", self.url.rpartition(":")[2] or "0", "--name", "pit 1",
            "--evidence", str(self.kept), *arguments,
        )  # fmt: skip
        self.url = line.split()[0]

    def resume(self) -> None:
        self._stop.clear()
        self._clock = threading.Thread(target=self._tick, daemon=True)
        self._clock.start()

    def pause(self) -> None:
        self._stop.set()
        if self._clock is not None:
            self._clock.join(PATIENCE_S)
            self._clock = None

    def kill_table(self) -> None:
        """Kill the daemon, as a power cut would."""
        self.pause()
        self.table.kill()

    def restart_sign_in(self) -> None:
        """Restart the sign-in process, as systemd does after a crash."""
        self._end("sign_in")
        self.start_sign_in()

    def kill_console(self) -> None:
        """Kill the console, as the kernel does when memory runs out."""
        process = self._processes.pop("console")
        process.kill()
        process.wait(PATIENCE_S)

    def stop_console(self) -> None:
        self._end("console")

    def close(self) -> None:
        self.pause()
        for name in tuple(self._processes):
            self._end(name)
        if self.table.process is not None:
            self.table.kill()

    def play(
        self, readings: Iterable[AnyReading] | Sequence[tuple[int, AnyReading]], *, after_us: int = SECOND_US
    ) -> None:
        """Play a scene now, then advance the clock by `after_us`."""
        feed: Sequence[tuple[int, AnyReading]] = [
            one if isinstance(one, tuple) else (one.t if one.arrived is None else one.arrived, one)
            for one in readings
        ]
        with self._turn:
            shift = self._t_us + SECOND_US - min(min(arrived, one.t) for arrived, one in feed)
            last_us = max(max(arrived, one.t) for arrived, one in feed) + shift
            self.table.feed(lines_of(feed, shift))
            self._t_us = last_us + after_us
            self.table.feed([tick(self._t_us)])

    def feed_until(self, readings: Sequence[AnyReading], until_us: int) -> None:
        """Feed readings at their times while the clock is paused, and advance it to `until_us`."""
        self.table.feed(lines_of([(one.t, one) for one in readings]))
        self._t_us = until_us
        self.table.feed([tick(until_us)])

    @property
    def now_us(self) -> int:
        return self._t_us

    def has_person(self, name: str) -> bool:
        return read_register(self.folder / "people" / REGISTER_FILE).named(name) is not None

    def _tick(self) -> None:
        while not self._stop.wait(TICK_S):
            with self._turn:
                self._t_us += round(TICK_S * SECOND_US)
                self.table.feed([tick(self._t_us)])

    def _run(self, command: str, *arguments: str) -> str:
        """Start a process and return the first line of its output."""
        log, output = self.folder / f"{command}.log", self.folder / f"{command}.out"
        output.unlink(missing_ok=True)
        process = self._processes[command] = Forked((command, *arguments), log=log, output=output)

        def has_said() -> bool:
            assert process.poll() is None, log.read_text(encoding="utf-8")
            return output.exists() and "\n" in output.read_text(encoding="utf-8")

        until(has_said, f"the first line of {command}")
        return output.read_text(encoding="utf-8").splitlines()[0]

    def _end(self, name: str) -> None:
        process = self._processes.pop(name)
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        finally:
            process.kill()
