"""The console board, which has keys, switches, lamps and a buzzer.

The board's settings are `keys`, `switches`, `lamps` and `buzzer`. A closed contact connects its pin to
ground. Because contacts bounce, a change is accepted only after BOUNCE_US. Its timestamp is the time of its
first edge.
"""

from drivers.firmware.shared.lamps import Lamps
from drivers.firmware.shared.program import Board

BOUNCE_US = 20000
"""Time for which a contact's new state must last. Contacts bounce for 1 to 10 ms, and two presses are more
than 20 ms apart."""


class Contact:
    """The debounced state of one contact."""

    def __init__(self, active: bool) -> None:
        """Start with the contact's present state."""
        self.active = active
        self.level = active
        self.since_us = 0

    def edge(self, active: bool, at_us: int) -> None:
        """Handle an edge. `active` means that the contact closed."""
        if active != self.level:
            if active != self.active:
                self.since_us = at_us if self.level == self.active else self.since_us
            self.level = active

    def take_change(self, now_us: int) -> bool:
        """Return whether the debounced state has changed since the last call. It changed at `since_us`."""
        if self.level == self.active or now_us - self.since_us < BOUNCE_US:
            return False
        self.active = self.level
        return True


MAX_BUZZ_MS = 5000
"""Maximum time for which one command can sound the buzzer."""


class Console(Board):
    """A console with keys, switches, lamps and a buzzer."""

    NAME = "console"
    READS = "input,switch"
    DOES = "lamp,buzzer,selftest"

    def __init__(self, hardware, settings) -> None:  # type: ignore[no-untyped-def]
        """Set up the pins, with a pull-up on every input."""
        super().__init__(hardware, settings)
        self.keys = settings.get("keys", [])
        self.switches = settings.get("switches", [])
        self.lamps = Lamps(hardware, settings.get("lamps", []))
        self.buzzer = settings.get("buzzer")
        self.contacts = {}  # type: dict[int, Contact]
        self.buzz_until_us = 0
        self.buzzing = False
        for one in self.keys + self.switches:
            hardware.watch(one["pin"])
            self.contacts[one["pin"]] = Contact(not hardware.level(one["pin"]))
        if self.buzzer is not None:
            hardware.output(self.buzzer, False)

    def initial_readings(self, now_us: int) -> list[tuple[str, list[tuple[str, str]], int]]:
        """Return the state of each switch."""
        return [self.switch_reading(one, now_us) for one in self.switches]

    def poll(self, now_us: int) -> list[tuple[str, list[tuple[str, str]], int]]:
        """Return the readings of pressed keys and changed switches."""
        if self.buzzing and now_us >= self.buzz_until_us:
            self.buzzing = False
            self.hardware.output(self.buzzer, False)
        for pin, level, at_us in self.hardware.edges():
            if pin in self.contacts:
                self.contacts[pin].edge(not level, at_us)
        for pin, contact in self.contacts.items():
            contact.edge(not self.hardware.level(pin), now_us)  # an edge might have been lost
        seen = []
        for one in self.keys:
            contact = self.contacts[one["pin"]]
            if contact.take_change(now_us) and contact.active:
                fields = [("name", one["name"]), ("by", one["by"])]
                fields += sorted(one.get("fields", {}).items())
                seen.append(("input", fields, contact.since_us))
        for one in self.switches:
            contact = self.contacts[one["pin"]]
            if contact.take_change(now_us):
                seen.append(self.switch_reading(one, contact.since_us))
        return seen

    def switch_reading(self, one, at_us: int) -> tuple[str, list[tuple[str, str]], int]:  # type: ignore[no-untyped-def]
        """Return a switch's reading. A switch whose wire is broken is reported as open."""
        is_open = not self.contacts[one["pin"]].active
        return "switch", [("name", one["name"]), ("open", "1" if is_open else "0")], at_us

    def command(self, verb: str, fields: dict[str, str], now_us: int) -> tuple[bool, str]:
        """Switch a lamp, sound the buzzer, or run the self-test."""
        if verb == "lamp":
            self.lamps.show(fields)
            return True, ""
        if verb == "buzzer":
            return self.buzz(fields.get("ms", ""), now_us)
        return super().command(verb, fields, now_us)

    def buzz(self, text: str, now_us: int) -> tuple[bool, str]:
        """Sound the buzzer. `text` is the number of milliseconds."""
        if self.buzzer is None:
            return True, "no buzzer is fitted"
        try:
            ms = int(text)
        except ValueError:
            ms = 0
        if not 0 < ms <= MAX_BUZZ_MS:
            return False, "ms: expected a number of milliseconds from 1 to " + str(MAX_BUZZ_MS)
        self.buzzing = True
        self.buzz_until_us = now_us + ms * 1000
        self.hardware.output(self.buzzer, True)
        return True, ""

    def selftest(self) -> tuple[bool, str]:
        """Check that no key is held down."""
        stuck = [one["name"] for one in self.keys if self.contacts[one["pin"]].active]
        return not stuck, ("keys held down: " + ",".join(stuck)) if stuck else "no key is held down"

    def make_safe(self) -> None:
        """Switch the lamps and the buzzer off."""
        self.lamps.switch_off()
        if self.buzzer is not None:
            self.hardware.output(self.buzzer, False)
        self.buzzing = False
