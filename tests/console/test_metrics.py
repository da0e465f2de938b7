"""Metrics: their access rules, and the series of every alert and panel."""

import json
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple, cast

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from controller.console.app import Console
from controller.console.guard import LOOPBACK
from controller.console.link import Link
from controller.console.metrics import exposition, read_status
from tests.app.rig import until
from tests.console.rig import Screens
from tests.console.test_requests import FakeDesk, FakeTable
from tests.scenes import SECOND_US, throw

TABLE = "craps"
MONITORING = Path(__file__).parents[2] / "docs" / "monitoring"
ALERTS = MONITORING / "alerts.yaml"
STATUS = {
    "table": "craps",
    "ruleset": "craps-12-034",
    "lock": "locked",
    "faults": [{"code": "device_down", "where": "cam", "found": "unplugged"}],
    "awaited": {"state": "review", "number": 4},
    "state": {"table": "open"},
    "next": {"seq": 31, "roll": 5},
    "devices": {"cam": {"type": "json-camera", "up": False}},
    "publish": {"ready": True, "unacknowledged": 2},
    "readings": 123_456,
}


def samples(text: bytes) -> dict[str, float]:
    """Return each sample as "name{labels}" and its value."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text.decode()):  # type: ignore[no-untyped-call]  # the library's
        for sample in family.samples:
            labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


def test_a_status_becomes_metrics_that_prometheus_parses() -> None:
    found = samples(exposition(read_status(STATUS), Counter({"roll.called": 3}), 2))
    assert found["table_up{}"] == 1
    assert found["table_locked{}"] == 1
    assert found["table_fault{code=device_down,where=cam}"] == 1
    assert found["table_device_up{device=cam,type=json-camera}"] == 0
    assert found["table_awaits_person{why=review}"] == 1
    assert found["table_awaits_person{why=proposed}"] == 0
    assert found["table_attempts_total{attempt=roll}"] == 4
    assert found["table_outcomes_total{}"] == 30
    assert found["table_outcomes_told_total{type=roll.called}"] == 3
    assert found["table_unacknowledged_outcomes{}"] == 2
    assert found["console_streams{}"] == 2


def test_R_SPIN_3_no_metric_counts_readings_which_would_time_the_ball() -> None:
    assert 123_456 not in samples(exposition(read_status(STATUS), Counter(), 0)).values()


def test_a_controller_that_does_not_answer_is_down_and_has_no_other_metrics() -> None:
    found = samples(exposition(None, Counter(), 0))
    assert found["table_up{}"] == 0
    assert not [name for name in found if name.startswith(("table_open", "table_locked"))]


def test_metrics_are_for_this_machine_and_the_scrapers_given_at_the_start() -> None:
    def status(at: str, scrapers: tuple[str, ...] = LOOPBACK) -> int:
        table = cast("Link", FakeTable())
        console = Console(table, cast("Link", FakeDesk()), "pit 1", secure=False, scrapers=scrapers)
        client = TestClient(console.app(("localhost",)), base_url="http://localhost", client=(at, 5000))
        return client.get("/metrics").status_code

    assert status("127.0.0.1") == HTTPStatus.OK
    assert status("10.0.0.9") == HTTPStatus.FORBIDDEN
    assert status("10.0.0.9", (*LOOPBACK, "10.0.0.9")) == HTTPStatus.OK


# --- a real Prometheus at a real console ---


@pytest.fixture(scope="module")
def prometheus(screens: Screens, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a Prometheus that scrapes the console with the shipped alerts."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed: see .ci/services")
    folder = Path(tmp_path_factory.mktemp("prometheus"))
    target = screens.url.partition("//")[2]
    settings = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(ALERTS)],
        "scrape_configs": [{"job_name": "table", "static_configs": [{"targets": [target]}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                program,
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={address}",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait()


def asked(url: str, **query: str) -> dict[str, object]:
    """Query Prometheus; return an empty result if it does not respond yet."""
    try:
        with urllib.request.urlopen(f"{url}?{urllib.parse.urlencode(query)}", timeout=10) as answer:
            result: dict[str, object] = json.load(answer)
            return result
    except urllib.error.HTTPError as error:
        if error.code == HTTPStatus.SERVICE_UNAVAILABLE:
            return {}  # Prometheus is starting
        raise AssertionError(f"{query}: {error.read().decode()}") from error
    except OSError:
        return {}


def series(url: str, query: str) -> list[dict[str, object]]:
    """Return the current result of a query."""
    data = asked(f"{url}/api/v1/query", query=query).get("data")
    found: list[dict[str, object]] = data["result"] if isinstance(data, dict) else []
    return found


def panels() -> Iterator[tuple[str, str]]:
    """Yield each panel's title and each of its queries, for all tables."""
    dashboard = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$table", ".*")


MAY_BE_EMPTY = {"Active faults", "Share of attempts under review"}
"""Panels that are empty at a table without faults and without a throw for an hour."""


def test_every_panels_queries_find_data(screens: Screens, prometheus: str) -> None:
    until(lambda: bool(series(prometheus, "table_up == 1")), "the first scrape")
    screens.play(throw(SECOND_US, (4, 4)))
    screens.play(throw(SECOND_US, (3, 4)))
    until(lambda: bool(series(prometheus, "table_attempts_total > 1")), "two rolls")
    for title, query in panels():
        if title in MAY_BE_EMPTY:
            series(prometheus, query)
        else:
            until(lambda query=query: bool(series(prometheus, query)), f"{title}: {query}")  # type: ignore[misc]  # mypy infers no lambda with defaults


def test_every_alert_is_evaluated_without_an_error(prometheus: str) -> None:
    def evaluated() -> bool:
        data = asked(f"{prometheus}/api/v1/rules").get("data")
        groups = data["groups"] if isinstance(data, dict) else []
        rules = [rule for group in groups for rule in group["rules"]]
        assert not [rule for rule in rules if rule["health"] == "err"]
        return bool(rules) and all(rule["health"] == "ok" for rule in rules)

    until(evaluated, "every rule")


def test_a_missing_controller_is_found(screens: Screens, prometheus: str) -> None:
    screens.kill_table()
    try:
        until(lambda: bool(series(prometheus, "table_up == 0")), "the controller is down")
    finally:
        screens.start_table()


AT = {"instance": "t1", "job": "table"}


class Case(NamedTuple):
    """The condition of an alert: series with a value for each minute, and additional labels."""

    alert: str
    series: dict[str, str]
    minutes: int = 10
    labels: dict[str, str] = {}
    value: str = ""
    of_table: bool = True
    """Whether the alert keeps the labels of one series, including its job."""


FIRES = (
    Case("TableConsoleDown", {"up": "0x20"}),
    Case("TableControllerDown", {"table_up": "0x20"}),
    Case("TableReviewWaits", {'table_awaits_person why="review"': "1x20"}, labels={"why": "review"}),
    Case("TableLocked", {"table_locked": "1x20", "table_open": "1x20", "table_testing": "0x20"}),
    Case(
        "TableFault",
        {'table_fault code="weak_beam" where="b3"': "1x20"},
        labels={"code": "weak_beam", "where": "b3"},
    ),
    Case(
        "TableDeviceDown",
        {'table_device_up device="cam" type="node"': "0x20"},
        labels={"device": "cam", "type": "node"},
    ),
    Case("TableSettlementBehind", {"table_unacknowledged_outcomes": "3x20"}, value="3"),
    Case(
        "TableManyReviews",
        {
            'table_attempts_total attempt="roll"': "0+1x90",
            'table_outcomes_told_total type="roll.review"': "0+0.1x90",
        },
        minutes=80,
        of_table=False,
    ),
    Case("TableLateReadings", {"table_late_readings_total": "0+1x20"}),
    Case("TableClockNotSynchronized", {"table_clock_synchronized": "0x90"}, minutes=80),
    Case("TableDiskSlow", {"table_journal_waiting": "150x20"}, value="150"),
    Case("TableMemory", {"table_resident_bytes": "262144000x30"}, minutes=20, value="250Mi"),
)
QUIET = {
    "up": "1x90",
    "table_up": "1x90",
    'table_awaits_person why="review"': "1 0x90",
    "table_locked": "1x90",
    "table_open": "0x90",
    "table_testing": "0x90",
    'table_device_up device="cam" type="node"': "1x90",
    "table_unacknowledged_outcomes": "1 0x90",
    'table_attempts_total attempt="roll"': "0+1x90",
    'table_outcomes_told_total type="roll.review"': "0+0.01x90",
    "table_late_readings_total": "5x90",
    "table_clock_synchronized": "1x90",
    "table_journal_waiting": "2x90",
    "table_resident_bytes": "60000000x90",
}
"""A table without faults: closed and locked at night, and one review in a hundred, ruled on immediately."""


def _series(values: dict[str, str]) -> list[dict[str, str]]:
    made = []
    for name, value in values.items():
        metric, *labels = name.split(" ")
        everywhere = [f'{label}="{of}"' for label, of in AT.items()]
        made.append({"series": f"{metric}{{{','.join([*labels, *everywhere])}}}", "values": value})
    return made


def _expected(case: Case, rule: dict[str, dict[str, str]]) -> dict[str, object]:
    labels = {**(AT if case.of_table else {"instance": AT["instance"]}), **case.labels}
    words = {name: _filled(text, labels, case.value) for name, text in rule["annotations"].items()}
    return {"exp_labels": {**labels, **rule["labels"]}, "exp_annotations": words}


def _filled(text: str, labels: dict[str, str], value: str) -> str:
    for name, of in labels.items():
        text = text.replace(f"{{{{ $labels.{name} }}}}", of)
    return re.sub(r"\{\{ \$value.*?\}\}", value, text)


def test_each_alert_fires_when_it_should_and_none_at_a_quiet_table(tmp_path: Path) -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed: see .ci/services")
    rules = {
        rule["alert"]: rule
        for group in yaml.safe_load(ALERTS.read_text())["groups"]
        for rule in group["rules"]
    }
    assert {case.alert for case in FIRES} == set(rules), "every alert must have a case in which it fires"
    fire = [
        {
            "interval": "1m",
            "input_series": _series(case.series),
            "alert_rule_test": [
                {
                    "eval_time": f"{case.minutes}m",
                    "alertname": case.alert,
                    "exp_alerts": [_expected(case, rules[case.alert])],
                }
            ],
        }
        for case in FIRES
    ]
    quiet = {
        "interval": "1m",
        "input_series": _series(QUIET),
        "alert_rule_test": [{"eval_time": "80m", "alertname": name, "exp_alerts": []} for name in rules],
    }
    cases = tmp_path / "cases.yaml"
    cases.write_text(yaml.safe_dump({"rule_files": [str(ALERTS)], "tests": [*fire, quiet]}), encoding="utf-8")
    done = subprocess.run([program, "test", "rules", str(cases)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
