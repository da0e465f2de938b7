"""Make the sink that a table's `publish:` section asks for."""

from collections.abc import Callable

from controller.publish.embedded import Consumer, EmbeddedSink
from controller.publish.faults import Alarm
from controller.publish.settings import PublishSettings
from controller.publish.sink import Sink
from controller.publish.window import Chance


def sink_for(
    table: str,
    settings: PublishSettings,
    alarm: Alarm,
    *,
    now_us: Callable[[], int],
    chance: Chance,
    engine: Consumer | None = None,
) -> Sink:
    """Make it; `engine` is the settlement engine of this process, where there is one.

    Raises:
        ValueError: the section lacks what it asks for, or the MQTT library is not installed.
    """
    if settings.to == "embedded":
        if engine is None:
            raise ValueError(
                "publish: to: found `embedded` and no settlement engine in this process, expected one;"
                " give the engine's settings, or publish `to: mqtt`"
            )
        return EmbeddedSink(engine, alarm)
    if settings.mqtt is None:
        raise ValueError(
            "publish: found `to: mqtt` and no `mqtt:` section, expected one with the broker's `host`"
        )
    try:
        from controller.publish.mqtt import MqttSink  # noqa: PLC0415 - only a table with a broker has paho
    except ModuleNotFoundError as error:
        raise ValueError(
            f"publish: to: mqtt: found no module {error.name}, expected paho-mqtt;"
            " install the controller with the extra `mqtt`"
        ) from error
    return MqttSink(table, settings.mqtt, alarm, now_us=now_us, chance=chance)
