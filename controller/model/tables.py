"""The settings of a table: its geometry, its devices and its rules.

`controller.settings.tables` loads them from a file in `config/tables`.
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
"""The path of a value in a document, as keys and list positions."""
Setting = float | tuple[float, ...] | tuple[tuple[float, ...], ...] | Mapping[str, tuple[float, ...]]
"""A value written by a calibration: a number, a list of numbers, rows of numbers, or a section of lists."""


LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
"""The host names of a broker on this machine. Such a broker needs no TLS."""
PUBLIC_KEY = re.compile(r"[0-9a-f]{64}")
"""An Ed25519 public key in hexadecimal digits."""
TABLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
"""A table's name. It is also a topic level, a client id and a certificate's common name."""

NonEmpty = Annotated[str, MinLen(1)]
Seconds = Annotated[float, Gt(0)]
Port = Annotated[int, Ge(1), Le(65535)]
PublishRoute = Literal["embedded", "mqtt", "socket"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The three PEM files for TLS 1.3 with certificates on both sides."""

    ca: NonEmpty
    """The certificate of the authority that signed the broker's certificate."""
    certificate: NonEmpty
    """This table's certificate. Its common name is the table's name."""
    key: NonEmpty
    """The private key of `certificate`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MqttSettings:
    """The connection to an MQTT 5 broker."""

    host: NonEmpty
    """The broker's address. An IP address or a name in the hosts file needs no name server."""
    port: Port = 8883
    tls: TlsSettings | None = None
    """The TLS files. Required unless the broker is on this machine."""
    prefix: NonEmpty = "tables"
    """The first level of every topic."""
    keepalive_s: Annotated[int, Ge(1), Le(3600)] = 10
    """The MQTT keep-alive time. Without a message from the broker for this long, the connection is closed."""
    session_expiry_s: Annotated[int, Ge(60), Le(2**32 - 2)] = 86_400
    """The time for which the broker keeps answers for a table that is offline."""
    engine_key: NonEmpty | None = None
    """The settlement engine's public key (`tablectl settlement key`). By default, the table accepts the first
    key that it receives."""
    timeout_s: Seconds = 5.0
    """The timeout of each step of a connection, and of each publish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """The settlement engine in the controller's process."""

    database: NonEmpty | None = None
    """The URL of the database. The default is the SQLite file `settlement.db` next to the journal."""
    api_port: Port | None = None
    """The port of the HTTP API on this machine. Without it, there is no API and no bets can be made."""
    word_wait_s: Seconds = 0.6
    """The maximum time for which a bet waits for the table's confirmation that betting is open."""
    malfunction: Literal["stand", "refund"] = "stand"
    """What happens to the bets after a No Roll or No Spin that the equipment caused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishSettings:
    """The destination of outcomes, and the limits on play without acknowledgement."""

    to: PublishRoute | None = None
    """The settlement engine's location: in this process, behind a broker, or polling the control socket.

    The default is an engine in this process. If the engine is not installed, the table reports that no bets
    are settled.
    """
    embedded: EmbeddedSettings = field(default_factory=EmbeddedSettings)
    mqtt: MqttSettings | None = None
    max_in_flight: Annotated[int, Ge(1), Le(1000)] = 20
    """The maximum number of outcomes that are sent but not yet acknowledged."""
    max_unacknowledged: Annotated[int, Ge(1)] | None = None
    """The maximum number of unacknowledged outcomes before the table locks. The default is no limit."""
    max_silence_s: Seconds = 120.0
    """A fault is raised if outcomes are waiting and none has been acknowledged for this long."""
    retry_s: Seconds = 5.0
    """The delay before outcomes are sent again for the first time. It then doubles each time.

    Outcomes that a lost connection might have dropped are sent again without delay.
    """
    retry_most_s: Seconds = 60.0
    """The maximum delay before outcomes are sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionSettings:
    """How long the journal keeps contents that the hash chain does not need. The default is forever."""

    evidence_days: Annotated[int, Ge(90)] | None = None
    """Days to keep the readings behind each outcome.

    Records of the controlling computer must be kept for 90 days (NY 5319.60(b)).
    """
    outcomes_days: Annotated[int, Ge(365)] | None = None
    """Days to keep the contents of the outcomes.

    The subject of a dispute must be kept for a year (NJ 13:69E-1.31(b)).
    """

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is ever deleted."""
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
"""The kinds of reading for which a device can be configured. All devices also report their health."""

OnOpen = Literal["lock", "note"]
"""The effect when a switch opens: the table locks, or the change is only recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredDevice:
    """A device in a table file. While the device is offline, its `reads` are treated as missing."""

    reads: tuple[DeviceReading, ...] = ()
    """The kinds of reading that the device sends. Empty if it sends only other devices' readings."""
    wall: Wall | None = None
    """The wall of a wall sensor."""
    switches: tuple[str, ...] | None = None
    """The names of the device's switches; None if its settings don't list them."""
    type: str = ""
    """The kind of hardware. Empty if the readings come from another device or another source."""
    settings: object | None = None
    """The settings for this type; None if the table was loaded without its hardware."""


class ReportedDevice(NamedTuple):
    """A device of the table whose readings are sent by a piece of hardware or by another device.

    `at` is the key of the device's name in the hardware's settings. `kinds`, `wall` and `switches` are as
    stated in those settings, or None.
    """

    at: KeyPath
    dev: str
    kinds: tuple[DeviceReading, ...] | None = None
    wall: Wall | None = None
    switches: tuple[str, ...] | None = None


class ResourceClaim(NamedTuple):
    """A resource that two devices can't share, such as a port, a name or a GPIO line."""

    at: KeyPath
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """One table. `rules` is the rule set with the table's thresholds applied."""

    table: str
    rules: RuleSet
    calls: Calls = "automatic"
    dice_table: DiceTable | None = None
    wheel: Wheel | None = None
    devices: Mapping[str, DeclaredDevice] = field(default_factory=dict)
    switches: Mapping[str, OnOpen] = field(default_factory=dict)
    publish: PublishSettings = field(default_factory=PublishSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
