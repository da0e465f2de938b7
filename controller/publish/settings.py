"""How a table publishes: the `publish:` section of a table's file."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, MinLen

Word = Annotated[str, MinLen(1)]
Seconds = Annotated[float, Gt(0)]


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
    port: Annotated[int, Ge(1), Le(65535)] = 8883
    tls: TlsSettings | None = None
    """Left out only for a broker on this machine."""
    prefix: Word = "tables"
    """The first part of every topic."""
    keepalive_s: Annotated[int, Ge(1), Le(3600)] = 10
    """After so long without a word from the broker the connection counts as lost."""
    session_expiry_s: Annotated[int, Ge(60), Le(2**32 - 2)] = 86_400
    """How long the broker keeps answers for a table that is away."""
    timeout_s: Seconds = 5.0
    """How long each step of connecting, and each publish, may wait for the broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishSettings:
    """To whom outcomes go, and how long play goes on without an answer."""

    to: Literal["embedded", "mqtt"] = "embedded"
    """A settlement engine in this process, or one behind a broker."""
    mqtt: MqttSettings | None = None
    max_in_flight: Annotated[int, Ge(1), Le(1000)] = 20
    """Outcomes on their way before the oldest of them is acknowledged."""
    max_unacknowledged: Annotated[int, Ge(1)] = 100
    """More outcomes than this without an acknowledgement lock play."""
    max_silence_s: Seconds = 120.0
    """An outcome that waits this long while nothing is acknowledged locks play."""
    retry_s: Seconds = 5.0
    """The first wait before outcomes are sent again; each further one is twice as long.
    What a lost connection took is sent at once."""
    retry_most_s: Seconds = 60.0
    """The longest wait."""
