"""The support archive contains no key, password or token in any notation."""

import io
import tarfile

import pytest
import yaml

from controller.app.schemas import schemas
from controller.settings.places import config_home
from controller.technician import bundle

HMAC = "00112233445566778899aabbccddeeff"
WORDS = bundle.SettingsKeys.of(schemas()["table.schema.json"])
SECRETS = (HMAC, "hunter2", "tok-abc", "swordfish", "in-a-comment", "s3cr3t")
FILE = f"""
table: craps
ruleset: craps-12-034
# the old key was in-a-comment
devices:
  cam: {{type: node, node: cam, port: /dev/cam, key: {HMAC}}}
  note: {{label: {HMAC}}}
publish:
  to: embedded
  embedded:
    database: postgresql://settlement:hunter2@db/settlement
  url: https://till:swordfish@example.invalid/x
  nested: {{api_token: tok-abc, list: [{{password: [s3cr3t]}}]}}
"""


def test_a_settings_file_keeps_its_structure_and_loses_its_secrets() -> None:
    printed = bundle.settings_without_secrets(FILE, WORDS)
    assert [secret for secret in SECRETS if secret in printed] == []
    kept = yaml.safe_load(printed)
    assert kept["ruleset"] == "craps-12-034"
    assert kept["devices"]["cam"]["port"] == "/dev/cam"
    assert kept["devices"]["cam"]["key"] == bundle.LEFT_OUT


@pytest.mark.parametrize(
    "text",
    ["credentials: {user: a, value: hunter2}", "keys: {cam: hunter2}", "passwords: [{cam: hunter2}]"],
)
def test_everything_below_a_secret_name_is_left_out(text: str) -> None:
    assert "hunter2" not in bundle.settings_without_secrets(text, WORDS)


@pytest.mark.parametrize(
    "text",
    [
        "pasword: hunter2",
        "publish: {mqtt: {host: broker, user: till, pasword: hunter2}}",
        "devices: {cam: {type: node, hmac_ky: hunter2}}",
        "devices: {cam: {kye: [hunter2]}}",
        "note: {to: {self: hunter2}}",
        "pim: 4711",
    ],
)
def test_values_under_an_unknown_key_are_left_out(text: str) -> None:
    """A list of secret names would not contain a misspelt key."""
    printed = bundle.settings_without_secrets(text, WORDS)
    assert "hunter2" not in printed
    assert "4711" not in printed


@pytest.mark.parametrize("name", sorted(path.name for path in (config_home() / "tables").glob("*.yaml")))
def test_no_key_of_a_shipped_table_counts_as_unknown(name: str) -> None:
    text = (config_home() / "tables" / name).read_text(encoding="utf-8")
    printed = yaml.safe_load(bundle.settings_without_secrets(text, WORDS))
    assert printed == bundle.without_secrets(yaml.safe_load(text))


def test_a_status_keeps_codes_and_figures_and_loses_foreign_text() -> None:
    """Text from a person, a board or a library cannot be cleaned reliably."""
    printed = bundle.status_without_free_text(
        {
            "headline": "locked: the wifi psk is hunter2",
            "locked": {"by": "supervisor", "who": "hunter2", "says": "PIN hunter2", "cause": ""},
            "faults": [{"code": "test_failed", "where": "cam", "found": "passcode hunter2", "do": "see it"}],
            "devices": {"shoe": {"says": "hunter2", "figures": {"last_malformed": "hunter2", "frames": 3}}},
            "digests": {"program": HMAC},
        }
    )
    assert "hunter2" not in str(printed)
    assert isinstance(printed, dict)
    assert printed["faults"][0]["code"] == "test_failed"
    assert printed["devices"]["shoe"]["figures"]["frames"] == 3
    assert printed["digests"] == {"program": HMAC}


def test_a_file_that_is_not_yaml_is_left_out_completely() -> None:
    printed = bundle.settings_without_secrets("key: [hunter2", WORDS)
    assert "hunter2" not in printed
    assert printed.startswith(bundle.LEFT_OUT)


@pytest.mark.parametrize(
    "line",
    [
        f"node cam: key={HMAC} refused",
        "connecting to mqtt://table:hunter2@broker:8883",
        "TOKEN: tok-abc",
        "password = hunter2",
        "Authorization token=s3cr3t",
        '{"password": "hunter2", "port": 1}',
        r'{"msg": "{\"password\": \"hunter2\"}"}',
        "devices.cam.key: found 'hunter2', expected digits",
        "Authorization: Bearer tok-abc",
        "password: correct swordfish",
    ],
)
def test_a_log_line_loses_its_secret(line: str) -> None:
    printed = bundle.redact(line)
    assert [secret for secret in SECRETS if secret in printed] == []
    assert bundle.LEFT_OUT in printed


def test_the_archive_holds_each_part_as_a_file_for_its_owner_only() -> None:
    stream = io.BytesIO()
    bundle.pack(stream, {"a.txt": "one\n", "b.json": "{}\n"})
    stream.seek(0)
    with tarfile.open(fileobj=stream) as archive:
        assert archive.getnames() == ["table-support/a.txt", "table-support/b.json"]
        assert {entry.mode for entry in archive} == {0o600}
        held = archive.extractfile("table-support/a.txt")
        assert held is not None
        assert held.read() == b"one\n"


WRONG_LINES = (
    ("port: 'hunter2'", "publish.mqtt.port"),
    ("tls: hunter2", "publish.mqtt.tls"),
    ("host: [hunter2]", "publish.mqtt.host"),
)


@pytest.mark.parametrize(("line", "key"), WRONG_LINES)
def test_a_value_that_cannot_belong_to_its_key_is_left_out(line: str, key: str) -> None:
    """The value may be a password that was entered on the wrong line."""
    text = f"publish: {{mqtt: {{{line}}}}}\nruleset: craps-12-034\n"
    printed = bundle.settings_without_secrets(text, WORDS, {key})
    assert "hunter2" not in printed
    assert "craps-12-034" in printed


@pytest.mark.parametrize(
    "host", ["ann:hunter2@broker", "ann:hu@nter2@broker:8883", "table:hunter2@db/settlement"]
)
def test_a_password_in_an_address_without_slashes_is_left_out(host: str) -> None:
    printed = bundle.settings_without_secrets(f"publish: {{mqtt: {{host: '{host}'}}}}", WORDS)
    assert "nter2" not in printed
    assert host.rpartition("@")[2] in printed


def test_a_mistake_is_reported_without_the_value_found() -> None:
    says = "table.yaml:4:1: publish.mqtt.port: found 'hunter2, expected x', expected a whole number; see it"
    assert bundle.without_found_value(says) == (
        f"table.yaml:4:1: publish.mqtt.port: found {bundle.LEFT_OUT}, expected a whole number; see it"
    )
    long = "a:" * 20_000
    assert bundle.redact(long) == long, "long texts must not take long"
