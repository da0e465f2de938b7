"""One connection to an MQTT 5 broker. This is the only module that uses paho.

paho runs in the thread of the link's owner, and its callbacks only record events. A link is used only once.
Its unsent messages are lost when it is discarded; outcomes are kept in the outbox.
"""

import socket
import ssl
from functools import cache
from typing import NamedTuple

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from controller.model.tables import MqttSettings, TlsSettings

MAX_PACKET_BYTES = 65_536
HEAD_BYTES = 1024
"""Upper bound on the size of a message's topic and properties."""
MAX_IN_FLIGHT = 20
"""Maximum number of messages that await the broker's acknowledgement. A broker can set a lower limit."""
NO_SUBSCRIBER = 0x10
SESSION_TAKEN_OVER = 0x8E


class Connected(NamedTuple):
    """The broker's answer to the connection request. `session` says whether a session was resumed."""

    code: int
    reason: str
    session: bool


class Subscribed(NamedTuple):
    """The broker's answer to the subscription."""

    code: int
    reason: str


class Published(NamedTuple):
    """The broker's answer to a message. It does not show that a subscriber received the message."""

    mid: int
    code: int
    reason: str


class Received(NamedTuple):
    """A message from the broker. `retained` is True if the broker had stored it."""

    topic: str
    payload: bytes
    retained: bool


class ConnectionLost(NamedTuple):
    """The end of the connection. `code` is the broker's reason code, or 0 if it sent none."""

    code: int
    reason: str


LinkEvent = Connected | Subscribed | Published | Received | ConnectionLost


class Outgoing(NamedTuple):
    """A message to publish, with QoS 1 unless `at_most_once` is set."""

    topic: str
    payload: bytes
    retain: bool = False
    content_type: str | None = None
    answer_topic: str | None = None
    at_most_once: bool = False
    """Whether to send the message with QoS 0. It is then neither stored nor sent again."""


def tls_context(files: TlsSettings) -> ssl.SSLContext:
    """Return a TLS 1.3 context that trusts only this authority and presents this certificate.

    Raises OSError (which includes ssl.SSLError) if a file can't be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cafile=files.ca)
    context.load_cert_chain(files.certificate, files.key)
    return context


class MqttLink:
    """One connection, from `open` to `ConnectionLost`."""

    def __init__(
        self, settings: MqttSettings, client_id: str, tls: ssl.SSLContext | None, will: Outgoing | None = None
    ) -> None:
        """Prepare without connecting. The broker publishes `will` if the connection breaks."""
        self._settings = settings
        self._events: list[LinkEvent] = []
        self._max_packet = MAX_PACKET_BYTES
        self._max_in_flight = MAX_IN_FLIGHT
        self._in_flight: set[int] = set()
        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=client_id,
            protocol=MQTTProtocolVersion.MQTTv5,
            reconnect_on_failure=False,
        )
        client.connect_timeout = settings.timeout_s
        client.max_inflight_messages_set(MAX_IN_FLIGHT)
        if tls is not None:
            client.tls_set_context(tls)
        if will is not None:
            properties = _properties(PacketTypes.WILLMESSAGE, will.content_type, will.answer_topic)
            client.will_set(will.topic, will.payload, qos=1, retain=will.retain, properties=properties)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_publish = self._on_publish
        client.on_message = self._on_message
        client.on_disconnect = self._on_disconnect
        self._client = client

    def open(self) -> None:
        """Connect, and resume the broker's session for this client if there is one. Raises OSError."""
        settings = self._settings
        properties = _no_properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = settings.session_expiry_s
        properties.MaximumPacketSize = MAX_PACKET_BYTES
        self._client.connect(
            settings.host,
            settings.port,
            keepalive=settings.keepalive_s,
            clean_start=False,
            properties=properties,
        )
        opened = self._client.socket()
        if isinstance(opened, socket.socket):
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def fileno(self) -> int:
        """Return the file descriptor to wait on; -1 after the end of the connection."""
        opened = self._client.socket()
        return opened.fileno() if isinstance(opened, socket.socket) else -1

    @property
    def wants_to_write(self) -> bool:
        """Whether bytes are waiting to be written to the socket."""
        return self._client.want_write()

    def turn(self) -> list[LinkEvent]:
        """Read and write without waiting; return the new events."""
        client = self._client
        if client.socket() is not None:
            client.loop_read()
        while isinstance(opened := client.socket(), ssl.SSLSocket) and opened.pending():
            client.loop_read()
        if client.want_write():
            client.loop_write()
        client.loop_misc()
        events, self._events = self._events, []
        return events

    def subscribe(self, *topics: str) -> None:
        """Subscribe with QoS 1."""
        self._client.subscribe([(topic, SubscribeOptions(qos=1)) for topic in topics])

    def publish(self, message: Outgoing) -> int | None:
        """Send a message and return its number; return None if it is too large or can't be sent."""
        if len(message.payload) + HEAD_BYTES > self._max_packet:
            return None
        info = self._client.publish(
            message.topic,
            message.payload,
            qos=0 if message.at_most_once else 1,
            retain=message.retain,
            properties=_properties(PacketTypes.PUBLISH, message.content_type, message.answer_topic),
        )
        if info.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
            return None
        if not message.at_most_once:
            self._in_flight.add(info.mid)
        return info.mid

    @property
    def room(self) -> int:
        """The number of further messages that the broker accepts at present."""
        return self._max_in_flight - len(self._in_flight)

    @property
    def unanswered(self) -> int:
        """The number of messages that the broker has not answered."""
        return len(self._in_flight)

    def close(self) -> None:
        """Disconnect from the broker, which then publishes no will."""
        self._client.disconnect()

    def drop(self) -> None:
        """Abort the connection; the broker then publishes the will."""
        opened = self._client.socket()
        if isinstance(opened, socket.socket):
            opened.close()

    def _on_connect(
        self,
        _client: Client,
        _data: object,
        flags: ConnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        self._apply_broker_limits(properties)
        self._events.append(Connected(reason.value, str(reason), flags.session_present))

    def _apply_broker_limits(self, properties: Properties | None) -> None:
        """Adopt the broker's limits. paho ignores them; a broker disconnects clients that exceed them."""
        self._max_in_flight = min(getattr(properties, "ReceiveMaximum", MAX_IN_FLIGHT), MAX_IN_FLIGHT)
        self._max_packet = getattr(properties, "MaximumPacketSize", MAX_PACKET_BYTES)

    def _on_subscribe(
        self,
        _client: Client,
        _data: object,
        _mid: int,
        reasons: list[ReasonCode],
        _properties: Properties | None,
    ) -> None:
        worst = max(reasons, key=lambda reason: reason.value)
        self._events.append(Subscribed(worst.value, str(worst)))

    def _on_publish(
        self, _client: Client, _data: object, mid: int, reason: ReasonCode, _properties: Properties
    ) -> None:
        if mid not in self._in_flight:
            return  # paho also reports messages sent at most once, which the broker does not answer.
        self._in_flight.discard(mid)
        self._events.append(Published(mid, reason.value, str(reason)))

    def _on_message(self, _client: Client, _data: object, message: MQTTMessage) -> None:
        self._events.append(Received(message.topic, bytes(message.payload), message.retain))

    def _on_disconnect(
        self,
        _client: Client,
        _data: object,
        flags: DisconnectFlags,
        reason: ReasonCode,
        _properties: Properties | None,
    ) -> None:
        code = reason.value if flags.is_disconnect_packet_from_server else 0
        self._events.append(ConnectionLost(code, str(reason)))


class _Packed(Properties):
    """Properties packed in advance. paho takes longer to pack them than to process the rest of a message."""

    _bytes: bytes

    def __init__(self, properties: Properties) -> None:
        object.__setattr__(self, "packetType", properties.packetType)
        object.__setattr__(self, "_bytes", properties.pack())  # type: ignore[no-untyped-call]  # untyped in paho

    def pack(self) -> bytes:
        """Return the bytes."""
        return self._bytes


def _no_properties(packet: int) -> Properties:
    return Properties(packet)  # type: ignore[no-untyped-call]  # paho leaves its properties untyped


@cache
def _properties(packet: int, content_type: str | None, answer_topic: str | None) -> Properties:
    properties = _no_properties(packet)
    if content_type is not None:
        properties.ContentType = content_type
        properties.PayloadFormatIndicator = 1
    if answer_topic is not None:
        properties.ResponseTopic = answer_topic
    return _Packed(properties)
