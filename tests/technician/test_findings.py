"""Each check of the doctor, with a good result and a bad one."""

import errno
import grp
import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from controller.app.options import Options
from controller.model.tables import MqttSettings, PublishSettings
from controller.technician import machine_checks, table_checks
from controller.technician.machine_checks import Finding, Machine
from drivers.link import gpio_kernel
from drivers.link.gpio_edges import Chip
from tests.journal.rig import rig_in
from tests.journal.tamper import sql, tamper

NOTHING = Machine(Path("/nonexistent"), lambda _: None)


def states(findings: Sequence[Finding]) -> list[str]:
    return [finding.state for finding in findings]


def telling(**answers: str) -> Machine:
    """Return a machine whose programs print this."""
    return Machine(Path("/nonexistent"), lambda words: answers.get(words[0]))


@pytest.mark.parametrize(
    ("expected", "state", "says"),
    [
        ("throttled=0x0\n", "ok", "normal"),
        ("throttled=0x20000\n", "fault", "frequency has been capped"),
        ("throttled=0x50005\n", "fault", "the supply voltage is too low; the processor is throttled"),
        ("error\n", "unchecked", "vcgencmd does not respond"),
    ],
)
def test_a_weak_supply_is_reported(expected: str, state: str, says: str) -> None:
    found = machine_checks.power(telling(vcgencmd=expected))
    assert (found.state, says in found.says) == (state, True)


def test_a_machine_without_information_has_no_power_finding() -> None:
    assert machine_checks.power(NOTHING).state == "unchecked"
    assert machine_checks.watchdog(NOTHING).state == "unchecked"
    assert states(list(machine_checks.units(NOTHING))) == ["unchecked"] * 5


def test_a_raspberry_pi_without_its_watchdog_is_reported(tmp_path: Path) -> None:
    (tmp_path / "proc/device-tree").mkdir(parents=True)
    (tmp_path / "proc/device-tree/model").write_text("Raspberry Pi 5 Model B\0")
    assert machine_checks.watchdog(Machine(tmp_path, lambda _: None)).state == "warning"
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/watchdog").touch()
    assert machine_checks.watchdog(Machine(tmp_path, lambda _: None)).state == "ok"


UNIT = "LoadState=loaded\nActiveState={}\nSubState=x\nNRestarts={}\nWatchdogUSec={}\nResult=watchdog\n"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (UNIT.format("active", 0, "20s"), "ok"),
        (UNIT.format("active", 4, "20s"), "warning"),
        (UNIT.format("failed", 1, "20s"), "fault"),
        ("LoadState=not-found\n", "unchecked"),
    ],
)
def test_a_unit_that_failed_is_reported_with_the_number_of_failures(message: str, expected: str) -> None:
    assert states(list(machine_checks.units(telling(systemctl=message)))) == [expected] * 5


def test_a_unit_that_does_not_run_is_not_reported_for_its_watchdog() -> None:
    """systemd reports only a running unit's watchdog."""
    found = list(machine_checks.units(telling(systemctl=UNIT.format("inactive", 0, "0"))))
    assert states(found) == ["ok"] * 5


def test_a_unit_without_a_watchdog_is_reported() -> None:
    found = list(machine_checks.units(telling(systemctl=UNIT.format("active", 0, "0"))))
    assert states(found) == [*["ok", "warning"] * 2, "ok", "ok", "ok"]


def test_each_present_fault_and_failed_check_of_the_controller_is_a_line() -> None:
    status: Mapping[str, object] = {
        "table": "craps",
        "headline": "locked",
        "faults": [{"code": "clock_behind", "found": "2020"}],
        "self_test": [
            {"name": "devices", "ok": False, "says": "cam is missing"},
            {"name": "journal", "ok": True},
        ],
    }
    found = list(machine_checks.controller(status, ""))
    assert states(found) == ["ok", "fault", "fault"]
    assert states(list(machine_checks.controller(None, "nobody answers"))) == ["fault"]


def test_a_fault_is_reported_with_its_place_and_a_failed_journal_once_with_its_remedy() -> None:
    found = "found database or disk is full, expected a journal on a sound disk"
    status: Mapping[str, object] = {
        "table": "craps",
        "lock": "locked",
        "faults": [
            {
                "code": "journal_disk_full",
                "where": "journal.db",
                "found": found,
                "next_step": "free space on it",
            }
        ],
        "self_test": [{"name": "journal", "ok": False, "says": f"journal.db: {found}; free space on it"}],
    }
    _, *findings = machine_checks.controller(status, "")
    assert [(one.about, one.says, one.remedy) for one in findings] == [
        ("active fault", f"journal_disk_full at journal.db: {found}", "free space on it")
    ]


def test_an_offline_device_is_reported_once() -> None:
    """The device's absence alone causes two faults and two failed checks."""
    status: Mapping[str, object] = {
        "table": "craps",
        "headline": "device_missing (cam)",
        "lock": "locked",
        "faults": [{"code": code, "found": "cam"} for code in ("self_test_waits", "device_missing")],
        "self_test": [
            {"name": "devices", "ok": False, "says": "not up: cam"},
            {"name": "faults", "ok": False, "says": "device_missing"},
        ],
    }
    findings = [(found.about, found.says) for found in machine_checks.controller(status, "")]
    assert findings == [
        ("controller", "craps: responding, locked; its faults are below"),
        ("self-test devices", "not up: cam"),
    ]


def test_a_missing_port_is_a_fault_and_an_existing_one_is_good(tmp_path: Path) -> None:
    settings, loaded = table_checks.load("craps")
    assert settings is not None
    assert states(loaded) == ["ok"]
    assert set(states(list(table_checks.ports(settings, tmp_path)))) == {"fault"}
    by_id = tmp_path / "dev/serial/by-id"
    by_id.mkdir(parents=True)
    for number in range(1, 10):
        (by_id / f"usb-Table_Board_000{number}-if00").touch()
    assert set(states(list(table_checks.ports(settings, tmp_path)))) == {"ok"}


def test_the_gpio_chip_of_a_table_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, _ = table_checks.load("roulette-gpio")
    assert settings is not None
    gone = {finding.says for finding in table_checks.ports(settings, tmp_path) if finding.state == "fault"}
    assert "there is no /dev/gpiochip*, so the chip pinctrl-rp1 is missing" in gone
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/gpiochip4").touch()
    there = [Chip("/dev/gpiochip4", "pinctrl-bcm2711")]
    monkeypatch.setattr(gpio_kernel, "list_chips", lambda: there)
    wrong = [finding for finding in table_checks.ports(settings, tmp_path) if "label" in finding.says]
    assert states(wrong) == ["fault", "fault"]
    assert all("/dev/gpiochip4 [pinctrl-bcm2711]" in finding.says for finding in wrong)
    there[:] = [Chip("/dev/gpiochip4", "pinctrl-rp1")]
    right = {finding.says for finding in table_checks.ports(settings, tmp_path) if finding.state == "ok"}
    assert "/dev/gpiochip4 is pinctrl-rp1" in right


@pytest.mark.parametrize(("package", "state"), [("json", "ok"), ("no_such_library", "fault")])
def test_a_panels_library_that_is_not_installed_is_a_fault(
    package: str, state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, _ = table_checks.load("roulette-gpio")
    assert settings is not None
    monkeypatch.setattr(
        table_checks, "find_spec", lambda name: find_spec({"gpiod": package, "gpiozero": "json"}[name])
    )
    (findings,) = (finding for finding in table_checks.ports(settings, tmp_path) if "gpiod" in finding.says)
    assert findings.state == state


def test_the_users_groups_are_reported_with_what_they_permit_and_what_is_missing() -> None:
    known = [
        grp.struct_group((name, "x", number, members))
        for name, number, members in (
            ("table-console", 1, ["ann", "bob"]),
            ("table-staff", 2, []),
            ("dialout", 3, []),
        )
    ]
    assert machine_checks.caller("root", 0, {0}, known).state == "ok"
    assert (
        machine_checks.caller("eve", 7, {7}, known[1:]).says
        == "no group table-console: not installed here as a service"
    )
    well = machine_checks.caller("ann", 7, {7, 1, 3}, known)
    assert (well.state, well.says) == (
        "ok",
        "in table-console, dialout; not in table-staff (rulings and approvals)",
    )
    stranger = machine_checks.caller("eve", 7, {7}, known)
    assert (stranger.state, "usermod -aG table-console eve" in stranger.remedy) == ("unchecked", True)
    given_since = machine_checks.caller("bob", 7, {7}, known)
    assert (given_since.state, given_since.remedy) == (
        "warning",
        "log in again, because bob has been added to table-console since the last login",
    )


def test_every_mistake_of_a_table_file_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("table: x\nruleset: craps-12-034\ncalls: perhaps\nspeed: 3\n")
    settings, loaded = table_checks.load(str(path))
    assert settings is None
    assert len(loaded) >= 2
    assert set(states(loaded)) == {"fault"}


def test_a_broker_that_does_not_run_is_a_fault_and_one_that_listens_is_good() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        publish = PublishSettings(to="mqtt", mqtt=MqttSettings(host="127.0.0.1", port=port))
        assert states(list(table_checks.broker(publish))) == ["ok"]
    assert states(list(table_checks.broker(publish))) == ["fault"]
    assert list(table_checks.broker(PublishSettings())) == []


def test_the_packages_that_a_table_needs_follow_from_its_file() -> None:
    assert table_checks.extras_of(None) == {"journal", "hardware"}
    settings, _ = table_checks.load("craps")
    assert table_checks.extras_of(settings) == {"journal", "hardware", "settlement"}
    assert states(list(machine_checks.extras({"journal"})))[0] == "ok"


def test_a_missing_package_is_a_fault_only_if_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(machine_checks.PACKAGES, "mqtt", ("no_such_package",))
    findings = {found.about: found.state for found in machine_checks.extras({"mqtt"})}
    assert findings["extra mqtt"] == "fault"
    assert {found.about: found.state for found in machine_checks.extras(())}["extra mqtt"] == "ok"


def test_a_journal_that_does_not_exist_yet_is_not_a_fault(tmp_path: Path) -> None:
    options = Options(table="craps", journal=tmp_path / "none", socket=tmp_path / "control.sock")
    assert states(list(table_checks.journal_folder(options, {}))) == ["unchecked"]


@pytest.mark.parametrize("left", ["an older copy", "nothing", "no folder"])
def test_a_journal_shorter_than_its_head_says_is_a_fault(tmp_path: Path, left: str) -> None:
    (tmp_path / "table").mkdir()
    rig = rig_in(tmp_path / "table")
    rig.played(1)
    head = tmp_path / "head"
    shutil.copy(rig.place.head, head)
    if left == "an older copy":
        tamper(rig.place.journal, sql("DELETE FROM rows WHERE n = (SELECT max(n) FROM rows)"))
    elif left == "nothing":
        rig.place.journal.unlink()
    else:
        shutil.rmtree(tmp_path / "table")
    options = Options(table="craps", journal=tmp_path / "table", socket=tmp_path / "control.sock", head=head)
    findings = {found.about: found for found in table_checks.journal_folder(options, {})}
    assert findings["journal"].state == "fault"
    assert f"as recorded in {head}" in findings["journal"].says


@pytest.mark.parametrize("sealed", [True, False])
def test_a_key_sealed_for_the_service_is_not_reported_missing(tmp_path: Path, sealed: bool) -> None:
    rig = rig_in(tmp_path)
    rig.played(1)
    credential = tmp_path / "credential"
    if sealed:
        credential.touch()
    options = Options(table="craps", journal=tmp_path, socket=tmp_path / "none", head=rig.place.head)
    findings = {found.about: found for found in table_checks.journal_folder(options, {}, credential)}
    assert not options.key_file.exists()
    assert ("signing key" in findings) is sealed
    assert findings["files and groups"].state == ("ok" if sealed else "fault")


def test_a_file_that_is_not_a_journal_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_bytes(b"no database" * 1000)
    options = Options(table="craps", journal=tmp_path, socket=tmp_path / "control.sock")
    assert "fault" in states(list(table_checks.journal_folder(options, {})))


def test_the_disk_is_measured_and_left_unchanged(tmp_path: Path) -> None:
    found = list(machine_checks.disk(tmp_path / "journal"))
    assert [finding.about for finding in found] == ["disk", "disk speed"]
    assert os.listdir(tmp_path) == []


def test_a_disk_that_refuses_writes_is_a_fault_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object, **_named: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    *_, speed = machine_checks.disk(tmp_path)
    assert (speed.state, speed.about) == ("fault", "disk speed")
    assert speed.says == f"{tmp_path}: a small file could not be written (No space left on device)"
    assert "free space" in speed.remedy


def test_an_unsynchronized_clock_is_a_warning() -> None:
    assert machine_checks.clock(synchronized=False).state == "warning"
    assert machine_checks.clock(synchronized=True).state == "ok"
    assert machine_checks.python().about == "python"
    assert machine_checks.sqlite().state == "ok"
