"""systemd finds no fault in the units, and their access is minimal."""

import os
import re
import shutil
import subprocess
from configparser import ConfigParser, MissingSectionHeaderError
from pathlib import Path

import pytest

from controller.app.options import JOURNAL, SOCKET
from controller.app.service import STUCK_TIMEOUT_S
from controller.cli.main import main
from controller.journal.keys import CREDENTIAL

SYSTEMD = Path(__file__).parents[2] / "systemd"
UNITS = (
    "table.service",
    "table-settlement.service",
    "table-console.service",
    "table-sign-in.service",
    "table-camera.service",
)
PROGRAM = "/opt/table-controller/current/bin/tablectl"
EXPOSURE = 20
"""Maximum permitted exposure, in tenths of systemd's score."""

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed: see .ci/services"
)
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("systemd-sysusers") is None,
    reason="creating users in a test's folder needs root and systemd-sysusers",
)


def lines_of(unit: str) -> list[str]:
    """Return a unit's lines, continued ones joined."""
    return (SYSTEMD / unit).read_text(encoding="utf-8").replace("\\\n", "").splitlines()


def values(unit: str, key: str) -> list[str]:
    return [line.partition("=")[2].strip() for line in lines_of(unit) if line.startswith(f"{key}=")]


def value(unit: str, key: str) -> str:
    (only,) = values(unit, key)
    return only


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Return copies of the units whose program exists on this machine."""
    for unit in UNITS:
        text = (SYSTEMD / unit).read_text(encoding="utf-8")
        assert PROGRAM in text
        (tmp_path / unit).write_text(text.replace(PROGRAM, "/bin/true"), encoding="utf-8")
    return tmp_path


@needs_systemd
@pytest.mark.parametrize("unit", UNITS)
def test_systemd_finds_no_fault_in_the_units(unit: str, here: Path) -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(here / unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_is_exposed_to_no_more_than_two(unit: str, here: Path) -> None:
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", str(here / unit)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@needs_systemd
def test_a_unit_that_is_not_closed_is_found(here: Path) -> None:
    bare = here / "bare.service"
    bare.write_text("[Service]\nExecStart=/bin/true\n", encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE}", str(bare)],
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0


def test_the_controller_may_open_its_ports_and_lines() -> None:
    unit = "table.service"
    assert set(values(unit, "DeviceAllow")) == {
        f"char-{kind} rw" for kind in ("ttyACM", "ttyUSB", "gpiochip")
    }
    assert value(unit, "DevicePolicy") == "closed"
    assert "systemd-modules-load.service" in value(unit, "After").split()
    assert {"dialout", "gpio"} <= set(value(unit, "SupplementaryGroups").split())
    for hides_devices in ("PrivateDevices", "ProcSubset", "PrivateNetwork"):
        assert not values(unit, hides_devices), hides_devices


def test_a_module_is_loaded_for_every_kind_of_port() -> None:
    modules = (SYSTEMD / "modules-load.d" / "table.conf").read_text(encoding="ascii")
    loaded = {line for line in modules.splitlines() if not line.startswith("#")}
    assert {"cdc_acm", "usbserial", "ftdi_sio", "cp210x", "ch341"} <= loaded


def test_the_controllers_working_directory_lets_it_make_its_fifo_and_find_its_folders() -> None:
    unit = "table.service"
    runtime = f"/run/{value(unit, 'RuntimeDirectory')}"
    assert value(unit, "WorkingDirectory") == runtime == str(Path(SOCKET).parent)
    journal, head = (f"/var/lib/{name}" for name in value(unit, "StateDirectory").split())
    assert journal == JOURNAL
    assert f"--journal {journal} --head {head}/journal.head" in " ".join(value(unit, "ExecStart").split())
    assert value(unit, "LoadCredentialEncrypted").startswith(f"{CREDENTIAL}:")


def test_the_controller_may_give_its_socket_to_a_group() -> None:
    filters = values("table.service", "SystemCallFilter")
    assert filters.index("@chown") > filters.index("~@privileged @resources")


@pytest.mark.parametrize("unit", UNITS)
def test_a_service_is_always_restarted(unit: str) -> None:
    assert value(unit, "Restart") == "always"
    assert value(unit, "StartLimitIntervalSec") == "0"
    assert int(value(unit, "RestartSec")) >= 2


def test_the_controller_reports_a_hung_thread_before_the_watchdog_ends_it() -> None:
    unit = "table.service"
    assert value(unit, "Type") == "notify"
    assert int(value(unit, "WatchdogSec")) > STUCK_TIMEOUT_S


@pytest.mark.parametrize(
    ("unit", "command"),
    [
        ("table.service", ["run"]),
        ("table-settlement.service", ["settlement", "run"]),
        ("table-console.service", ["console"]),
        ("table-sign-in.service", ["sign_in"]),
        ("table-camera.service", ["camera", "run"]),
    ],
)
def test_the_options_in_a_unit_exist_in_the_command(
    unit: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    known: set[str] = set()
    for words in (command[:1], command):
        with pytest.raises(SystemExit):
            main([*words, "--help"])
        known |= set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    given = set(re.findall(r"--[a-z-]+", value(unit, "ExecStart")))
    assert given <= known


def test_every_named_group_is_created() -> None:
    made = (SYSTEMD / "sysusers.d" / "table.conf").read_text(encoding="ascii")
    named = set(re.findall(r"-group (\S+)", value("table.service", "ExecStart")))
    for unit in UNITS:
        if unit == "table-settlement.service":
            continue
        named |= set(value(unit, "SupplementaryGroups").split())
    named |= {value(unit, "Group") for unit in UNITS}
    for group in named:
        assert re.search(rf"^[ug] {group}\s", made, re.MULTILINE), group


@needs_root
def test_users_groups_and_folders_can_be_created(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    for program, file in (("systemd-sysusers", "sysusers.d"), ("systemd-tmpfiles", "tmpfiles.d")):
        create = ["--create"] if program == "systemd-tmpfiles" else []
        done = subprocess.run(
            [program, *create, f"--root={tmp_path}", str(SYSTEMD / file / "table.conf")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "var/lib/table").stat().st_mode & 0o777 == 0o700
    assert "table-console" in (tmp_path / "etc/group").read_text(encoding="utf-8")


def test_the_udev_rules_are_well_formed() -> None:
    """The lines contain only comparisons and assignments, and ModemManager ignores every port."""
    rules = (SYSTEMD / "udev" / "60-table.rules").read_text(encoding="ascii").splitlines()
    pair = r'[A-Z]+(?:\{[A-Za-z_]+\})?(?:==|\+=|=)"[^"]*"'
    for rule in rules:
        assert rule.startswith("#") or re.fullmatch(rf"{pair}(?:, {pair})*", rule), rule
    assert any(
        'KERNEL=="ttyACM*|ttyUSB*"' in rule and 'ENV{ID_MM_DEVICE_IGNORE}="1"' in rule for rule in rules
    )


@pytest.mark.parametrize(
    ("file", "section", "key"),
    [
        ("journald.conf.d/table.conf", "Journal", "SystemMaxUse"),
        ("system.conf.d/table-watchdog.conf", "Manager", "RuntimeWatchdogSec"),
    ],
)
def test_drop_ins_set_their_keys(file: str, section: str, key: str) -> None:
    parser = ConfigParser()
    try:
        parser.read_string((SYSTEMD / file).read_text(encoding="ascii"))
    except MissingSectionHeaderError:
        pytest.fail(f"{file} has no section")
    assert parser[section][key]


@pytest.mark.parametrize("unit", UNITS)
def test_no_core_dump_leaves_a_key_on_a_disk(unit: str) -> None:
    """A core dump contains the process's memory: the unsealed key, tokens, PINs."""
    assert value(unit, "LimitCORE") == "0"


@pytest.mark.parametrize("unit", ["table.service", "table-camera.service"])
def test_services_that_delete_by_age_may_query_the_clocks_synchronization(unit: str) -> None:
    filters = values(unit, "SystemCallFilter")
    assert filters.index("adjtimex clock_adjtime clock_adjtime64") > filters.index("~@privileged @resources")
    assert not values(unit, "ProtectClock")  # it forbids these calls with any filter
    assert not values(unit, "CapabilityBoundingSet")[0]  # so that none of them can set the clock
