"""What both GPIO devices do with their lines: take sentences, look again, find faults."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Protocol

from controller.model.readings import AnyReading
from drivers.gpio.health import GpioHealth
from drivers.gpio.line import Babbling, Became, Calm, Happened, Hidden, Line, Lost, Missed
from drivers.link.gpio_sentences import Edge, Look, Rest, sentences_of, written

ROUND_US = 1_000_000
"""Every line is looked at so often, so that no missed edge leaves a state stuck or inverted."""
SILENT_US = 2_000_000
REST_US = 200_000
"""A babbling line is left alone for so long at a time."""


class InputSetup(Protocol):
    """What is common to the inputs of a panel and those on kernel edge events."""

    @property
    def line(self) -> int: ...
    @property
    def debounce_us(self) -> int: ...
    @property
    def max_edges_per_s(self) -> int: ...


class GpioDevice(ABC):
    """One device of the table on some lines of a chip: see `drivers.registry.Device`."""

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, InputSetup],
        *,
        devices: Mapping[str, str],
        stuck_us: Mapping[str, int],
    ) -> None:
        """Take the inputs, the table's device that each belongs to, and for how long each may be active."""
        self.name = name
        self.lines = {key: Line(s.debounce_us, s.max_edges_per_s) for key, s in inputs.items()}
        self.health = GpioHealth(dict.fromkeys((name, *devices.values())))
        self._inputs = inputs
        self._devices = devices
        self._stuck_us = stuck_us
        self._names = {setup.line: key for key, setup in inputs.items()}
        self._is_open = False
        self._unheard: set[str] = set()
        self._round_us = 0
        self._heard_us = 0
        self._rested_us = dict.fromkeys(inputs, 0)
        self._bad_sentences = 0
        self._output = bytearray()
        self._reopen = False

    @abstractmethod
    def became(self, now_us: int, name: str, became: Became) -> list[AnyReading]:
        """Take a change of the input of this name."""

    def broken(self, name: str) -> None:  # noqa: B027 - a panel's switches keep no unfinished business
        """Take that changes of this input are missing, or not to be believed, before what comes next."""

    def start(self, now_us: int) -> list[AnyReading]:
        """Begin: down until the lines are open."""
        return self.health.down(now_us, "starting", f"{self.name} has not been opened yet")

    def opened(self, now_us: int) -> list[AnyReading]:
        """Begin anew: nothing is known until every line has been looked at."""
        self._is_open = True
        self._heard_us = now_us
        self._round_us = now_us + ROUND_US
        self._output.clear()
        self._unheard = set(self.lines)
        for name, line in self.lines.items():
            line.opened()
            self.broken(name)
        return [] if self.lines else self.health.up(now_us, "open")

    def closed(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Take that the lines are not there."""
        self._is_open = False
        self._output.clear()
        for name in self.lines:
            self.broken(name)
        return self.health.down(now_us, code, seen)

    def overflowed(self, now_us: int, lost_bytes: int) -> list[AnyReading]:
        """Take that edges were thrown away before they came here."""
        told: list[AnyReading] = []
        for name, line in self.lines.items():
            told += self._took(now_us, name, line.lost(self._heard_us), f"{lost_bytes} bytes")
        return told

    def receive(self, now_us: int, data: bytes) -> list[AnyReading]:
        """Take a port's sentences."""
        sentences, bad = sentences_of(data)
        told: list[AnyReading] = []
        for sentence in sentences:
            name = self._names.get(sentence.line)
            if name is None:
                bad += 1
                continue
            line = self.lines[name]
            if isinstance(sentence, Edge):
                happened = line.edge(sentence.t_us, sentence.active, sentence.seq)
            else:
                self._heard_us = now_us
                self._unheard.discard(name)
                happened = line.level(sentence.t_us, sentence.active)
            told += self._took(now_us, name, happened)
        if bad:
            self._bad_sentences += bad
            seen = f"{bad} sentences of the port were not understood"
            told += self.health.fault(
                now_us, self.name, "bad_sentence", "port", seen, since_us=now_us, passes=True
            )
        self._rest(now_us)
        if self._is_open and self.health.is_down and not self._unheard:
            told += self.health.up(now_us, "every line's level is known")
        return told

    def tick(self, now_us: int) -> list[AnyReading]:
        """Do what is due by now."""
        told = self.health.tick(now_us)
        if not self._is_open:
            return told
        for name, line in self.lines.items():
            told += self._took(now_us, name, line.tick(now_us))
            told += self._check_stuck(now_us, name)
        all_round = now_us >= self._round_us
        if all_round:
            self._round_us = now_us + ROUND_US
        for name, line in self.lines.items():
            look_us = _look_at(line)
            if all_round or (look_us is not None and look_us <= now_us):
                line.asked(now_us)
                self._output += written(Look(self._inputs[name].line))
        if self.lines and now_us - self._heard_us >= SILENT_US:
            self._heard_us = now_us
            self._reopen = True
            told += self.closed(now_us, "silent", f"no level was told for {SILENT_US / 1e6:g} s")
        return told

    def next_deadline(self) -> int | None:
        """Give when `tick` has something to do."""
        due = [self.health.next_deadline()]
        if self._is_open:
            due.append(self._round_us)
            for name, line in self.lines.items():
                due += [_look_at(line), line.calm_us, self._stuck_at(name)]
        return min((at for at in due if at is not None), default=None)

    def order(self, order: bytes) -> None:
        """Hand an order to the port, where it is open."""
        if self._is_open:
            self._output += order

    def take_output(self) -> bytes:
        """Give the orders for the port."""
        output = bytes(self._output)
        self._output.clear()
        return output

    def take_reopen(self) -> bool:
        """Tell, once, that the lines should be opened anew."""
        reopen, self._reopen = self._reopen, False
        return reopen

    def status(self) -> dict[str, object]:
        """Give what each line is, and how much it bounced."""
        return {
            "open": self._is_open,
            "troubles": self.health.troubles,
            "bad_sentences": self._bad_sentences,
            "lines": {
                name: {
                    "line": self._inputs[name].line,
                    "active": line.stable,
                    "since_us": line.since_us,
                    "edges": line.edges,
                    "bounces": line.bounces,
                    "babbling": line.babbling,
                }
                for name, line in self.lines.items()
            },
        }

    def fault(
        self, now_us: int, name: str, code: str, seen: str, *, since_us: int, passes: bool = False
    ) -> list[AnyReading]:
        """Take a trouble of one input."""
        where = f"{name} (GPIO{self._inputs[name].line}) {seen}"
        return self.health.fault(
            now_us, self._devices[name], code, name, where, since_us=since_us, passes=passes
        )

    def over(self, now_us: int, name: str, code: str) -> list[AnyReading]:
        """End a trouble of one input."""
        return self.health.over(now_us, self._devices[name], code, name)

    def _took(
        self, now_us: int, name: str, happened: list[Happened], how_much: str | None = None
    ) -> list[AnyReading]:
        told: list[AnyReading] = []
        for event in happened:
            match event:
                case Became():
                    told += self.over(now_us, name, "stuck")
                    told += self.became(now_us, name, event)
                case Lost():
                    self.broken(name)
                    seen = f"lost {how_much or f'{event.edges} edges'}"
                    told += self.fault(
                        now_us, name, "lost_edges", seen, since_us=event.since_us + 1, passes=True
                    )
                case Missed():
                    self.broken(name)
                    is_now = "active" if event.active else "inactive"
                    seen = f"is {is_now}, and no edge told how it came to be"
                    told += self.fault(now_us, name, "missed_edge", seen, since_us=now_us, passes=True)
                case Hidden():
                    self.broken(name)
                case Babbling():
                    self.broken(name)
                    seen = f"changes {event.edges_per_s} times a second"
                    told += self.fault(now_us, name, "babbling", seen, since_us=event.t_us)
                case Calm():
                    told += self.over(now_us, name, "babbling")
        return told

    def _rest(self, now_us: int) -> None:
        """Have babbling lines left alone for a while, lest they drown the others."""
        for name, line in self.lines.items():
            if line.babbling and now_us >= self._rested_us[name]:
                self._rested_us[name] = now_us + REST_US
                self.order(written(Rest(self._inputs[name].line, REST_US)))

    def _stuck_at(self, name: str) -> int | None:
        line, stuck_us = self.lines[name], self._stuck_us.get(name, 0)
        if not stuck_us or not line.stable or self.health.stands(self._devices[name], "stuck", name):
            return None
        return line.since_us + stuck_us

    def _check_stuck(self, now_us: int, name: str) -> list[AnyReading]:
        at_us = self._stuck_at(name)
        if at_us is None or now_us < at_us:
            return []
        held_s = (now_us - self.lines[name].since_us) / 1e6
        limit_s = self._stuck_us[name] / 1e6
        seen = f"has been active for {held_s:.1f} s, expected {limit_s:g} s at most"
        return self.fault(now_us, name, "stuck", seen, since_us=now_us)


def _look_at(line: Line) -> int | None:
    """Give when to look at a line; one that babbles is only looked at on the rounds."""
    return None if line.babbling else line.look_us
