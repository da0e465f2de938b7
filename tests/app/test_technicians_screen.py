"""A technician at a screen: the token's permissions, and the data withheld while bets are open."""

from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from controller.app.daemon import Daemon
from controller.app.messages import BeginTest, LogRequest, RecordingsRequest, RowsRequest, Watch
from controller.app.peers import Peer
from controller.app.requests import Requests, history_lines
from controller.app.service import NOTICE, log
from controller.people import tokens
from tests.app.house import HouseMaker, unlocked

KEY = Ed25519PrivateKey.generate()
SCREEN = Peer(1, 1001, "table-screen", frozenset({"screen"}))
OTHER = Peer(2, 1002, "eve", frozenset())
ASKED = (LogRequest, RecordingsRequest, RowsRequest, BeginTest, Watch)


@pytest.fixture
def daemon(house: HouseMaker, tmp_path: Path) -> Daemon:
    public = tmp_path / "sign-in.pub"
    public.write_text(KEY.public_key().public_bytes_raw().hex(), encoding="ascii")
    one = house(sign_in_key=public).open()
    unlocked(one)
    return one


def token(monkeypatch: pytest.MonkeyPatch, role: str) -> str:
    monkeypatch.setattr("controller.app.requests._since_boot_us", lambda: 0)
    claims = tokens.Claims(person="tom", role=role, console="pit 1", until_us=5_000_000)
    return tokens.issue(KEY, claims)


@pytest.mark.parametrize("asked", ASKED)
def test_a_technicians_token_permits_what_technicians_may_do(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, asked: type[LogRequest]
) -> None:
    request = asked(token=token(monkeypatch, "technician"))
    found = Requests(daemon).identify(request, SCREEN)
    assert not isinstance(found, bytes)
    peer, person = found
    assert person == "tom"
    assert all(peer.may(deed) for deed in ("timing", "test", "read past records", "watch"))
    assert not any(peer.may(deed) for deed in ("rule", "unlock", "approve", "settle", "act for a screen"))


@pytest.mark.parametrize("asked", ASKED)
def test_a_staff_members_token_permits_neither_timing_nor_past_records_nor_tests(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, asked: type[LogRequest]
) -> None:
    request = asked(token=token(monkeypatch, "boxperson"))
    found = Requests(daemon).identify(request, SCREEN)
    assert not isinstance(found, bytes)
    assert not any(found[0].may(deed) for deed in ("timing", "test", "read past records"))


@pytest.mark.parametrize("asked", ASKED)
def test_a_screen_without_a_token_gets_no_technicians_rights(daemon: Daemon, asked: type[LogRequest]) -> None:
    assert Requests(daemon).identify(asked(), SCREEN) == (SCREEN, None)


@pytest.mark.parametrize("asked", ASKED)
def test_a_forged_token_and_one_from_another_screen_permit_nothing(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, asked: type[LogRequest]
) -> None:
    good = token(monkeypatch, "technician")
    requests = Requests(daemon)
    forged = good[:-4] + "AAAA"
    for text, peer, code in ((forged, SCREEN, "bad_token"), (good, OTHER, "not_allowed")):
        told = requests.identify(asked(token=text), peer)
        assert isinstance(told, bytes)
        assert msgspec.json.decode(told)["code"] == code


def test_the_recordings_are_listed_and_the_current_one_without_its_size(daemon: Daemon) -> None:
    assert daemon.live is not None
    folder = daemon.options.recordings
    folder.mkdir(exist_ok=True)
    (folder / "craps-000000-001.jsonl.gz").write_bytes(b"1234")
    working = daemon.live.core.view.recording
    (folder / f"{working}.jsonl.gz").write_bytes(b"12345")
    (line,) = history_lines(RecordingsRequest(), daemon.live, daemon.options.journal)
    told = {one["name"]: one for one in msgspec.json.decode(line)["recordings"]}
    assert told["craps-000000-001"]["bytes"] == 4
    assert told[working] == {"name": working, "bytes": None, "ended": None}


def test_the_last_lines_of_the_log_are_reported(daemon: Daemon) -> None:
    assert daemon.live is not None
    log(NOTICE, "the lamp was changed")
    (line,) = history_lines(LogRequest(), daemon.live, daemon.options.journal)
    assert msgspec.json.decode(line)["log"][-1]["says"] == "the lamp was changed"
