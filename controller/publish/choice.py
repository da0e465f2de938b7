"""Make the sink that a table's `publish:` section asks for."""

from collections.abc import Callable

from controller.model.tables import PublishSettings
from controller.publish.embedded import Consumer, EmbeddedSink
from controller.publish.faults import Alarm, PublishFault
from controller.publish.identity import Pin
from controller.publish.sink import Chance, Sink


class UnfitSettings(ValueError):
    """The `publish:` section can't be obeyed here: what was found, what was expected, what to do."""


def sink_for(
    table: str,
    settings: PublishSettings,
    alarm: Alarm,
    *,
    now_us: Callable[[], int],
    chance: Chance,
    engine: Consumer | None = None,
    pin: Pin | None = None,
) -> Sink | None:
    """Make it; `engine` is the settlement engine of this process, where there is one.

    `pin` says whose answers are believed where the engine is behind a broker.

    None where settlement asks for outcomes at the control socket. Where nothing is said and there is no
    engine, that is a fault, and the socket is the way that is left.

    Raises:
        UnfitSettings: the section lacks what it asks for, or the MQTT library is not installed.
    """
    if settings.to == "socket":
        return None
    if settings.to == "mqtt":
        return _mqtt_sink(table, settings, alarm, now_us=now_us, chance=chance, pin=pin or Pin())
    if engine is not None:
        return EmbeddedSink(engine, alarm)
    if settings.to == "embedded":
        raise UnfitSettings(
            "publish: to: found `embedded` and no settlement engine in this process, expected one;"
            " install the controller with the extra `settlement`, or publish `to: mqtt`"
        )
    alarm.began(PublishFault("settlement_missing", table, "no `publish:` section and no settlement engine"))
    return None


def _mqtt_sink(
    table: str,
    settings: PublishSettings,
    alarm: Alarm,
    *,
    now_us: Callable[[], int],
    chance: Chance,
    pin: Pin,
) -> Sink:
    if settings.mqtt is None:
        raise UnfitSettings(
            "publish: found `to: mqtt` and no `mqtt:` section, expected one with the broker's `host`"
        )
    try:
        from controller.publish.mqtt import MqttSink  # noqa: PLC0415 - only a table with a broker has paho
    except ModuleNotFoundError as error:
        raise UnfitSettings(
            f"publish: to: mqtt: found no module {error.name}, expected paho-mqtt;"
            " install the controller with the extra `mqtt`"
        ) from error
    try:
        return MqttSink(table, settings.mqtt, alarm, now_us=now_us, chance=chance, pin=pin)
    except ValueError as error:
        raise UnfitSettings(str(error)) from error
