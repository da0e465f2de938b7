"""Log lines for support contain the program's known messages, but no secret of any form."""

import re
from pathlib import Path

import pytest

from controller import app
from controller.app.faults import Fault
from controller.technician import bundle
from controller.technician.bundle import LEFT_OUT, known_log_lines

NAMES = frozenset({"craps", "cam", "wall-left"})
AT = "2026-11-28T13:00:00+0000 host-of-a-casino tablectl[123]: "
SECRET = "Xy7pQ9"
"""A short secret with a digit and both cases, which looks like an ordinary word."""
PEM = f"-----BEGIN PRIVATE KEY-----{SECRET}-----END PRIVATE KEY-----"
SHAPES = (
    f"Authorization: Bearer {SECRET}",
    f"Bearer {SECRET}",
    f"Basic {SECRET}",
    f"--token {SECRET}",
    f"--token={SECRET}",
    f"--password {SECRET}",
    f"-p {SECRET}",
    f"-p{SECRET}",
    f"pwd={SECRET}",
    f"pwd: {SECRET}",
    f"psk {SECRET}",
    f"psk={SECRET}",
    f"wpa_passphrase {SECRET}",
    f"hmac={SECRET}",
    f"hmac {SECRET}",
    PEM,
    f"MC4CAQAwBQYDK2VwBCIE{SECRET}",
    f"postgresql://settlement:{SECRET}@db/settlement",
    f"mqtt://table:a@{SECRET}@broker:8883",
    f"https://{SECRET}@example.invalid/",
    f"https://example.invalid/?token={SECRET}",
    f"https://example.invalid/hook/{SECRET}",
    f"Cookie: session={SECRET}",
    f"X-Api-Key: {SECRET}",
    f"api_key={SECRET}",
    f'{{"secret": "{SECRET}"}}',
    f"{{'token': '{SECRET}'}}",
    f"user ann identified by {SECRET}",
    f"PIN {SECRET}",
    f"passcode is {SECRET}",
    f"{SECRET}",
    f"key {SECRET} refused",
    f"PGPASSWORD={SECRET} tablectl run",
    f"secret\\u003d{SECRET}",
    f"k\u200bey={SECRET}",
    f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{SECRET}",
    f"AKIA{SECRET}EXAMPLE",
    f'Authorization: Digest username="ann", response="{SECRET}"',
    f"WIFI:S:house;T:WPA;P:{SECRET};;",
    f"otpauth://totp/ann?secret={SECRET}",
    f"curl -u ann:{SECRET} https://example.invalid/",
    f"//ann:{SECRET}@files/share",
    f"machine db login ann password {SECRET}",
    f"set-cookie: sid={SECRET}; HttpOnly",
    f"p\u0430ssword={SECRET}",
    f"pass word = {SECRET}",
    f"SECRET_{SECRET}=1",
)
PLACES = (
    "{}",
    "<3>{}",
    "<3>began: {}: journal disk full: found it full; free space [journal_disk_full]",
    "<3>began: cam: device fault: found {}; look at it [device_component]",
    "<3>began: cam: {}: found; look at it [device_component]",
    "<5>cleared: {}: device_component",
    "<5>over: cam, {}: device_component",
    "<6>{}: session 3 after row 7, 0.2.0 sha256:" + "0" * 64,
    "<6>/var/lib/table/{}: sound: 3 rows, 2 outcomes",
    "<5>{}: stopped",
    "KeyError: '{}'",
    "controller.errors.{}Error: it failed",
    '  File "/opt/{}/controller/app/core.py", line 3, in turn',
    '  File "/opt/x/controller/app/core.py", line 3, in {}',
    '  File "/opt/x/controller/{}.py", line 3, in turn',
    "    token = '{}'",
    "Started table.service - {}.",
    "table.service: Failed with result '{}'.",
)


@pytest.mark.parametrize("place", PLACES)
def test_no_form_of_secret_passes_wherever_it_is(place: str) -> None:
    assert len(SHAPES) > 33
    for head in (AT, ""):
        printed = {shape: known_log_lines(head + place.format(shape), NAMES) for shape in SHAPES}
        assert [shape for shape, line in printed.items() if SECRET in line] == []


@pytest.mark.parametrize(
    "head", [f"2026-11-28T13:00:00+0000 host {SECRET}[1]: ", f"{SECRET} host tablectl[1]: "]
)
def test_no_secret_passes_in_the_head_of_a_line(head: str) -> None:
    assert SECRET not in known_log_lines(head + "craps: stopped", NAMES)


def test_the_machines_name_is_left_out() -> None:
    assert known_log_lines(AT + "<5>craps: stopped", NAMES) == (
        "2026-11-28T13:00:00+0000 tablectl[123]: craps: stopped\n"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("<6>craps: session 3 after row 812, 0.2.0 sha256:" + "ab" * 32, None),
        ("<6>/var/lib/table/journal.db: sound: 812 rows, 300 outcomes", None),
        ("Started table.service - Table controller.", None),
        ("table.service: Main process exited, code=exited, status=1/FAILURE", None),
        ("table.service: Scheduled restart job, restart counter is at 5.", None),
        ("table.service: Watchdog timeout (limit 20s)!", None),
        ("Traceback (most recent call last):", None),
        (
            '  File "/opt/current/lib/site-packages/controller/app/core.py", line 9, in turn',
            '  File "controller/app/core.py", line 9',
        ),
        ("KeyError: 'seat'", f"KeyError: {LEFT_OUT}"),
    ],
)
def test_what_support_needs_is_included(line: str, message: str | None) -> None:
    expected = message or line.removeprefix("<6>")
    assert known_log_lines(AT + line, NAMES) == f"2026-11-28T13:00:00+0000 tablectl[123]: {expected}\n"


def test_the_known_messages_without_values_are_those_that_the_program_writes() -> None:
    written = "".join(path.read_text(encoding="utf-8") for path in Path(app.__path__[0]).glob("*.py"))
    without_values = [pattern for pattern in bundle._OWN_MESSAGES if not re.search(r"[\\(]", pattern)]
    assert len(without_values) == 2
    assert [message for message in without_values if message not in written] == []


def test_a_fault_is_included_by_its_code_and_place_without_the_value_found() -> None:
    fault = Fault("device_missing", "cam, wall-left", f"not up: {SECRET}")
    printed = known_log_lines(f"{AT}<3>began: {fault}", NAMES)
    assert "began: cam, wall-left: " in printed
    assert "[device_missing]" in printed
    assert LEFT_OUT in printed


def test_unknown_lines_are_counted() -> None:
    text = f"{AT}one\n{AT}two\n{AT}<5>craps: stopped\n{AT}three\n"
    assert known_log_lines(text, NAMES).splitlines() == [
        "(2 lines left out)",
        "2026-11-28T13:00:00+0000 tablectl[123]: craps: stopped",
        "(1 lines left out)",
    ]


GUESSABLE = [
    shape for shape in SHAPES if any(c in shape for c in ":=/") or shape.startswith(("--", "Bearer"))
]


@pytest.mark.parametrize("shape", GUESSABLE[:12])
def test_other_parts_of_the_bundle_lose_recognizable_secrets(shape: str) -> None:
    """Findings and the status are the program's text; a library's error text in them is cleaned."""
    assert SECRET not in bundle.redact(f"cam: found {shape}")
