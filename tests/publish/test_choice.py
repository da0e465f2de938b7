"""A table's `publish:` section selects the destination of its outcomes."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from controller.app.publishing import sink_for
from controller.model.tables import MqttSettings, PublishSettings
from controller.publish.embedded import Consumer, EmbeddedSink
from controller.publish.events import Answer
from controller.publish.mqtt import MqttSink
from controller.publish.sink import Sink
from tests.publish.house import Alarms, Clock, half

MANUAL = Path(__file__).parents[2] / "docs" / "publishing.md"


class Engine(Consumer):
    def take(self, event: bytes, answer: Callable[[Answer], None]) -> None:
        """Do nothing."""


def chosen(
    settings: PublishSettings, engine: Consumer | None = None, alarms: Alarms | None = None
) -> Sink | None:
    return sink_for(
        "table-7", settings, alarms or Alarms(), now_us=Clock(), random_fraction=half, engine=engine
    )


def test_the_default_is_an_engine_in_the_process() -> None:
    assert isinstance(chosen(PublishSettings(), Engine()), EmbeddedSink)
    assert isinstance(chosen(PublishSettings(to="embedded"), Engine()), EmbeddedSink)
    with pytest.raises(ValueError, match="`to: embedded` needs a settlement engine"):
        chosen(PublishSettings(to="embedded"))


def test_a_table_without_a_settlement_engine_reports_it() -> None:
    alarms = Alarms()
    assert chosen(PublishSettings(), alarms=alarms) is None
    assert set(alarms.holding) == {"settlement_missing"}


def test_an_engine_at_the_control_socket_has_no_sink_and_raises_no_fault() -> None:
    alarms = Alarms()
    assert chosen(PublishSettings(to="socket"), Engine(), alarms) is None
    assert not alarms.holding


def test_a_broker_is_chosen_by_name() -> None:
    sink = chosen(PublishSettings(to="mqtt", mqtt=MqttSettings(host="localhost")))
    assert isinstance(sink, MqttSink)
    sink.leave()
    with pytest.raises(ValueError, match="needs an `mqtt:` section"):
        chosen(PublishSettings(to="mqtt"))


def test_without_the_library_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "controller.publish.mqtt", None)
    with pytest.raises(ValueError, match="install the controller with the `mqtt` extra"):
        chosen(PublishSettings(to="mqtt", mqtt=MqttSettings(host="localhost")))


def test_the_section_in_the_manual_is_valid() -> None:
    text = MANUAL.read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    settings = TypeAdapter(PublishSettings).validate_python(yaml.safe_load(text)["publish"])
    assert settings.mqtt is not None
    assert settings.mqtt.tls is not None
    assert replace(settings, mqtt=None) == PublishSettings(to="mqtt", max_unacknowledged=100)


def test_a_publish_section_is_read_and_its_limits_are_checked() -> None:
    read = TypeAdapter(PublishSettings).validate_python
    section = {"to": "mqtt", "mqtt": {"host": "10.0.0.5", "tls": {"ca": "a", "certificate": "c", "key": "k"}}}
    settings = read(section)
    assert settings.mqtt is not None
    assert (settings.mqtt.port, settings.max_unacknowledged) == (8883, None)
    for wrong in ({"max_in_flight": 0}, {"to": "kafka"}, {"retry_s": 0}, {"mqtt": {"host": ""}}):
        with pytest.raises(ValidationError):
            read(wrong)
