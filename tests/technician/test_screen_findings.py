"""The doctor's findings about sign-in and console: their states, and the next step for each fault."""

import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from controller.people.register import FOLDER, KEY_FILE, PUBLIC_FILE, REGISTER_FILE, SOCKET
from controller.technician.machine_checks import CONSOLE_UNIT, SIGN_IN, Finding, Machine, screens

SHOWN = (
    "LoadState=loaded\nActiveState={}\nUnitFileState={}\n"
    "ExecStart={{ argv[]=/x/tablectl console --port {} ; }}\n"
)


class Installed:
    """A machine with both units, and its files under a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / FOLDER.removeprefix("/")
        self.folder.mkdir(parents=True)
        for name, mode in ((KEY_FILE, 0o600), (REGISTER_FILE, 0o600), (PUBLIC_FILE, 0o644)):
            (self.folder / name).touch()
            (self.folder / name).chmod(mode)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        path = root / SOCKET.removeprefix("/")
        path.parent.mkdir(parents=True)
        self.path = path
        self.door = socket.socket(socket.AF_UNIX)
        self.door.bind(str(path))
        path.chmod(0o660)
        self.door.listen()
        self.enabled = "enabled"
        self.active = {SIGN_IN: "active", CONSOLE_UNIT: "active"}

    def call(self, words: Sequence[str]) -> str | None:
        unit = words[2] if words[0] == "systemctl" else ""
        if unit not in self.active:
            return "LoadState=not-found\n"
        return SHOWN.format(self.active[unit], self.enabled, self.port)

    def findings(self) -> list[Finding]:
        return list(screens(Machine(self.root, self.call)))

    def wrong(self) -> Finding:
        """Return the only finding that is not `ok`."""
        [found] = [one for one in self.findings() if one.state != "ok"]
        return found

    def close(self) -> None:
        self.listening.close()
        self.door.close()


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installed]:
    one = Installed(tmp_path)
    yield one
    one.close()


def test_screens_that_work_are_three_lines(installed: Installed) -> None:
    found = installed.findings()
    assert [(one.state, one.about) for one in found] == [
        ("ok", "sign-in files"),
        ("ok", "sign-in socket"),
        ("ok", "console"),
    ]


def test_a_machine_without_the_units_has_nothing_to_check(tmp_path: Path) -> None:
    assert list(screens(Machine(tmp_path, lambda _: None))) == []
    assert list(screens(Machine(tmp_path, lambda _: "LoadState=not-found\n"))) == []


def test_units_that_are_not_enabled_are_not_a_fault(installed: Installed) -> None:
    installed.enabled, installed.active = "disabled", {SIGN_IN: "inactive", CONSOLE_UNIT: "inactive"}
    assert [(one.state, one.about) for one in installed.findings()] == [
        ("unchecked", "sign-in"),
        ("unchecked", "console"),
    ]


@pytest.mark.parametrize(("name", "mode"), [(KEY_FILE, 0o640), (REGISTER_FILE, 0o644), (PUBLIC_FILE, 0o600)])
def test_a_file_with_a_wrong_mode_is_reported_with_the_command_that_corrects_it(
    installed: Installed, name: str, mode: int
) -> None:
    (installed.folder / name).chmod(mode)
    found = installed.wrong()
    assert (found.state, f"found mode {mode:04o}" in found.says) == ("fault", True)
    assert found.remedy.startswith("chmod 6")


def test_a_missing_sign_in_key_is_reported_as_a_process_that_never_ran(installed: Installed) -> None:
    (installed.folder / PUBLIC_FILE).unlink()
    found = installed.wrong()
    assert "the controller accepts no sign-ins from screens" in found.says
    assert found.remedy == "systemctl enable --now table-sign-in"


def test_an_empty_register_is_reported(installed: Installed) -> None:
    (installed.folder / REGISTER_FILE).unlink()
    found = installed.wrong()
    assert (found.state, found.remedy) == ("warning", "tablectl people add NAME --role boxperson")


def test_a_socket_that_is_gone_or_open_to_all_or_dead_is_reported(installed: Installed) -> None:
    installed.path.chmod(0o666)
    assert "accessible to everybody" in installed.wrong().says
    installed.path.chmod(0o660)
    installed.door.close()
    assert "no answer" in installed.wrong().says
    installed.path.unlink()
    assert installed.wrong().remedy == f"journalctl -u {SIGN_IN}"
    installed.active[SIGN_IN] = "inactive"
    assert installed.wrong().remedy == "systemctl enable --now table-sign-in"


def test_a_console_that_does_not_run_or_does_not_answer_is_reported(installed: Installed) -> None:
    installed.listening.close()
    assert f"127.0.0.1:{installed.port}: no answer" in installed.wrong().says
    installed.active[CONSOLE_UNIT] = "failed"
    assert "systemctl enable --now table-console" in installed.wrong().remedy
