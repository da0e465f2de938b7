"""A table: its geometry, its devices, and the rules it is played by.

Filled by `controller.settings.tables` from one file of `config/tables`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

from annotated_types import Ge, Gt, Le, MinLen

from controller.model.geometry import DiceTable, Wheel
from controller.model.readings import Wall
from controller.model.rulesets import Calls, RuleSet

KeyPath = tuple[str | int, ...]
"""The place of a value in a document: keys, and positions in lists."""
Setting = float | tuple[float, ...] | tuple[tuple[float, ...], ...] | Mapping[str, tuple[float, ...]]
"""What a calibration writes: a number, a list of numbers, rows of them, or a section of lists."""


LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
"""A broker at one of these is on this machine, and needs no TLS."""
PUBLIC_KEY = re.compile(r"[0-9a-f]{64}")
"""An Ed25519 public key in hexadecimal digits."""
TABLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""A name that serves as topic level, client id and common name."""

Word = Annotated[str, MinLen(1)]
Seconds = Annotated[float, Gt(0)]
Port = Annotated[int, Ge(1), Le(65535)]
Way = Literal["embedded", "mqtt", "socket"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The three PEM files of TLS 1.3 with a certificate on both sides."""

    ca: Word
    """Who signed the broker's certificate."""
    certificate: Word
    """This table's own; its common name is the table's name."""
    key: Word
    """The certificate's private key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MqttSettings:
    """The way to an MQTT 5 broker."""

    host: Word
    """The broker's address; a number or a name in the hosts file needs no name server."""
    port: Port = 8883
    tls: TlsSettings | None = None
    """May be left out only for a broker on this machine."""
    prefix: Word = "tables"
    """The first part of every topic."""
    keepalive_s: Annotated[int, Ge(1), Le(3600)] = 10
    """After this long without a message from the broker the connection counts as lost."""
    session_expiry_s: Annotated[int, Ge(60), Le(2**32 - 2)] = 86_400
    """How long the broker keeps answers for a table that is offline."""
    engine_key: Word | None = None
    """The settlement engine's public key (`tablectl settlement key`); if left out, the first shown."""
    timeout_s: Seconds = 5.0
    """How long each step of connecting, and each publish, may wait for the broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """The settlement engine in the controller's own process."""

    database: Word | None = None
    """Its database's URL; if left out, the SQLite file settlement.db next to the journal."""
    api_port: Port | None = None
    """Where its HTTP API listens on this machine; if left out, there is no API, and so no bets."""
    word_wait_s: Seconds = 0.6
    """How long a bet waits for the table's word that bets are open, before it is refused."""
    malfunction: Literal["stand", "refund"] = "stand"
    """What becomes of bets when a No Roll or No Spin is the equipment's fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishSettings:
    """Where outcomes are sent, and how long play continues without an answer."""

    to: Way | None = None
    """A settlement engine in this process, one behind a broker, or one that asks at the control socket.
    Left out, the one in this process; if that is not installed, the table says that nobody settles."""
    embedded: EmbeddedSettings = field(default_factory=EmbeddedSettings)
    mqtt: MqttSettings | None = None
    max_in_flight: Annotated[int, Ge(1), Le(1000)] = 20
    """The most outcomes sent and not yet acknowledged."""
    max_unacknowledged: Annotated[int, Ge(1)] | None = None
    """More outcomes than this without an acknowledgement lock play; if left out, they never do."""
    max_silence_s: Seconds = 120.0
    """An outcome that waits this long while nothing is acknowledged is a fault."""
    retry_s: Seconds = 5.0
    """The first wait before outcomes are sent again; each further one is twice as long.
    What a lost connection took is sent at once."""
    retry_most_s: Seconds = 60.0
    """The longest wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    """How long the journal keeps what its chain can do without; what is left out is kept for ever."""

    evidence_days: Annotated[int, Ge(90)] | None = None
    """Readings behind each outcome: records of the controlling computer are kept 90 days (NY 5319.60(b))."""
    outcomes_days: Annotated[int, Ge(365)] | None = None
    """Contents of the outcomes. What a dispute was about is kept a year (NJ 13:69E-1.31(b))."""

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is ever dropped."""
        return self.evidence_days is None and self.outcomes_days is None


DeviceReading = Literal[
    "die_released",
    "die_at",
    "die_rest",
    "die_off_table",
    "die_lost",
    "die_contact",
    "wall_impact",
    "ball_beam",
    "ball_drop",
    "ball_out",
    "rotor_index",
    "pocket_ball",
    "foreign_object",
    "wheel_status",
    "card",
    "switch",
    "input",
]
"""The kinds of reading that a device can be set up for; it always reports its own health."""

OnOpen = Literal["lock", "note"]
"""What an opened switch does: it locks the table, or is only recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredDevice:
    """What a device is there for: without it, these readings are missing rather than not seen."""

    reads: tuple[DeviceReading, ...] = ()
    """Empty for a device that only sends others' readings."""
    wall: Wall | None = None
    """The wall that a wall sensor listens to."""
    switches: tuple[str, ...] | None = None
    """The names of its switches; None if its settings don't say them."""
    type: str = ""
    """The kind of hardware; empty if another device sends its readings, or they come from elsewhere."""
    settings: object | None = None
    """The settings of its type; None if the table was loaded without its hardware."""


class Speaks(NamedTuple):
    """A device speaks for a device of the table: itself, or one whose name stands at this key.

    `kinds`, `wall` and `switches` are what its settings tell of it; None if they don't.
    """

    at: KeyPath
    dev: str
    kinds: tuple[DeviceReading, ...] | None = None
    wall: Wall | None = None
    switches: tuple[str, ...] | None = None


class Claim(NamedTuple):
    """Something that no second device may have: a port, a name, a line of a chip."""

    at: KeyPath
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """One table. `rules` is its rule set with the table's own thresholds already in it."""

    table: str
    rules: RuleSet
    calls: Calls = "automatic"
    dice_table: DiceTable | None = None
    wheel: Wheel | None = None
    devices: Mapping[str, DeclaredDevice] = field(default_factory=dict)
    switches: Mapping[str, OnOpen] = field(default_factory=dict)
    publish: PublishSettings = field(default_factory=PublishSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
