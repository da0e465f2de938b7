"""The control socket's data for screens: the table, the board, pictures of reviews, and signed inputs."""

from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from controller.app.daemon import Daemon
from controller.app.faults import Fault
from controller.app.messages import decode_request
from controller.app.peers import Peer
from controller.app.requests import Requests
from controller.app.status import STAFF as STAFF_ROLES
from controller.people import tokens
from tests.app.house import HouseMaker, drain, play, unlocked
from tests.app.rig import Json
from tests.engine.test_allowed import WORDS
from tests.scenes import SECOND_US, input_at, throw

SCREEN = Peer(1, 900, "table-screen", frozenset({"screen"}))
STAFF = Peer(1, 901, "ann", frozenset({"staff"}))
NOBODY = Peer(1, 902, "eve", frozenset())
KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))


def ask(daemon: Daemon, peer: Peer, **request: object) -> Json:
    """Send a request as this peer while the core does its part."""
    line = Requests(daemon).answer(decode_request(msgspec.json.encode(request)), peer)
    drain(daemon)
    answer = msgspec.json.decode(line)
    assert isinstance(answer, dict)
    return answer


def floor(daemon: Daemon) -> Json:
    answer = ask(daemon, SCREEN, do="table")
    floor = answer["floor"]
    assert isinstance(floor, dict)
    return floor


def published_to(result: Json) -> list[Json]:
    answer = result["told"]
    assert isinstance(answer, list)
    return answer


def results(daemon: Daemon) -> list[Json]:
    answer = floor(daemon)["results"]
    assert isinstance(answer, list)
    return answer


@pytest.fixture
def daemon(house: HouseMaker, tmp_path: Path) -> Daemon:
    public = tmp_path / "sign-in.pub"
    public.write_text(KEY.public_key().public_bytes_raw().hex(), encoding="ascii")
    one = house(sign_in_key=public).open()
    unlocked(one)
    return one


def token(monkeypatch: pytest.MonkeyPatch, role: str, *, now_us: int = 0, until_us: int = 5_000_000) -> str:
    monkeypatch.setattr("controller.app.requests._since_boot_us", lambda: now_us)
    claims = tokens.Claims(person="ann", role=role, console="pit 1", until_us=until_us)
    return tokens.issue(KEY, claims)


def test_a_screen_receives_what_each_role_may_enter(daemon: Daemon) -> None:
    play(daemon, throw(10 * SECOND_US, (3, 4), confidence=0.4))
    answer = floor(daemon)
    assert answer["awaited"]["number"] == 1  # type: ignore[index]  # JSON
    may = answer["may"]
    assert isinstance(may, dict)
    assert {"set_dice", "no_roll"} <= set(may["boxperson"])
    assert "set_dice" not in may["stickperson"]
    assert not {"set_dice", "no_roll", "unlock"} & set(may["technician"])


def test_a_screen_receives_the_last_results_with_their_corrections(daemon: Daemon) -> None:
    play(daemon, throw(10 * SECOND_US, (3, 4)))
    play(daemon, [input_at(20 * SECOND_US, "set_dice", dice=(2, 2), who="ann", what="1")])
    (result,) = results(daemon)
    assert [word["type"] for word in published_to(result)] == ["roll.called", "roll.corrected"]
    answer = ask(daemon, NOBODY, do="board")
    assert answer["counts"] == {"4": 1}
    (shown,) = answer["board"]["results"]  # type: ignore[index]  # JSON
    assert shown["corrected"] is True
    assert "who" not in shown["data"]


def test_the_counts_restart_when_the_table_opens(daemon: Daemon) -> None:
    play(daemon, throw(10 * SECOND_US, (3, 4)))
    assert ask(daemon, NOBODY, do="board")["counts"] == {"7": 1}
    play(daemon, [input_at(20 * SECOND_US, "close_table"), input_at(21 * SECOND_US, "open_table")])
    assert ask(daemon, NOBODY, do="board")["counts"] == {}


def test_a_picture_is_sent_only_for_an_attempt_that_waits_for_a_person(daemon: Daemon) -> None:
    assert ask(daemon, SCREEN, do="picture", number=1)["code"] == "not_now"
    play(daemon, throw(10 * SECOND_US, (3, 4), confidence=0.4))
    svg = ask(daemon, SCREEN, do="picture", number=1)["svg"]
    assert isinstance(svg, str)
    assert svg.startswith("<svg")
    assert ask(daemon, NOBODY, do="picture", number=1)["code"] == "not_allowed"


def test_an_input_from_a_screen_is_entered_for_the_person_that_the_token_names(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(daemon, throw(10 * SECOND_US, (3, 4), confidence=0.4))
    daemon.clock.reach(20 * SECOND_US)
    signed = token(monkeypatch, "boxperson")
    entered = {"do": "input", "name": "set_dice", "dice": [3, 4], "what": "1"}
    assert ask(daemon, SCREEN, **entered, by="manager", who="eve", token=signed)["ok"] is True
    daemon.clock.reach(22 * SECOND_US)
    drain(daemon)
    (result,) = results(daemon)
    last = published_to(result)[-1]["data"]
    assert isinstance(last, dict)
    assert (last["by"], last["who"]) == ("boxperson", "ann")


@pytest.mark.parametrize(("table", "attempt"), [("craps", "roll"), ("roulette", "spin")])
def test_a_ruling_on_a_review_that_is_over_is_refused_with_the_attempts_name(
    house: HouseMaker, table: str, attempt: str
) -> None:
    """Also at a table that has not decided an attempt yet."""
    daemon = house(table=table).open()
    unlocked(daemon)
    ruling = {"do": "input", "name": "void", "by": "boxperson", "of_review": True}
    closed = ask(daemon, STAFF, **ruling, what="1")
    assert closed["code"] == "review_closed"
    assert str(closed["says"]).startswith(f"{attempt} 1 is no longer under review, because ")
    unnamed = ask(daemon, STAFF, **ruling)
    assert unnamed["code"] == "bad_request"
    assert unnamed["says"] == f"a ruling with `of_review` must name the {attempt} by its number in `what`"


@pytest.mark.parametrize(
    ("role", "now_us", "code"),
    [("technician", 0, "not_allowed"), ("boxperson", 5_000_000, "signed_out")],
)
def test_an_input_that_the_token_does_not_cover_is_refused(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, role: str, now_us: int, code: str
) -> None:
    signed = token(monkeypatch, role, now_us=now_us)
    refused = ask(daemon, SCREEN, do="input", name="unlock", by="manager", token=signed)
    assert (refused["ok"], refused["code"]) == (False, code)


def test_a_changed_token_or_one_signed_with_another_key_is_refused(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed = token(monkeypatch, "boxperson")
    other = tokens.issue(Ed25519PrivateKey.generate(), tokens.Claims(
        person="ann", role="boxperson", console="pit 1", until_us=5_000_000))  # fmt: skip
    head, _, tail = signed.partition(".")
    for forged in (other, f"{head}.{tail[::-1]}", f"A{head}.{tail}", head, "", "x" * 1024, "é.é"):
        refused = ask(daemon, SCREEN, do="input", name="lock", by="manager", token=forged)
        assert refused["code"] == "bad_token", forged


def test_an_input_needs_both_a_screen_and_a_token(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask(daemon, SCREEN, do="input", name="lock", by="manager")["code"] == "not_allowed"
    signed = token(monkeypatch, "boxperson")
    assert ask(daemon, NOBODY, do="input", name="lock", by="boxperson", token=signed)["code"] == "not_allowed"
    assert ask(daemon, STAFF, do="input", name="lock", by="boxperson", token=signed)["code"] == "not_allowed"


def test_a_screen_receives_how_long_a_held_call_can_still_be_stopped(daemon: Daemon) -> None:
    scene = throw(10 * SECOND_US, (3, 4))
    assert floor(daemon)["hold_left_ms"] is None
    for reading in scene:
        assert daemon.inlet.post(msgspec.structs.replace(reading, arrived=reading.t))
    daemon.clock.reach(max(reading.t for reading in scene) + 150_000)
    drain(daemon)
    left_ms = floor(daemon)["hold_left_ms"]
    assert isinstance(left_ms, float)
    assert 0 < left_ms < 250
    assert results(daemon) == []
    daemon.clock.reach(daemon.clock.now_us() + 1_000_000)
    drain(daemon)
    assert floor(daemon)["hold_left_ms"] is None
    assert len(results(daemon)) == 1


def approvals(daemon: Daemon) -> dict[str, list[str]]:
    """Return the approvals of each role, as the screen receives them."""
    may = floor(daemon)["may"]
    assert isinstance(may, dict)
    return {role: [name for name in names if name.startswith("approve")] for role, names in may.items()}


def test_a_fault_that_a_person_clears_is_approved_at_a_screen_by_a_supervisor_or_manager(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any(approvals(daemon).values())
    daemon.faults.report(Fault("clock_stepped", "wall clock", "set back by 3 h"))
    may = approvals(daemon)
    assert {role for role, names in may.items() if names == ["approve clock"]} == {"supervisor", "manager"}
    asked = {"do": "approve", "what": "clock", "who": "eve"}
    for role in ("boxperson", "dealer", "technician"):
        refused = ask(daemon, SCREEN, **asked, token=token(monkeypatch, role))
        assert (refused["code"], refused["says"]) == (
            "not_theirs",
            "a manager or a supervisor must approve this at a screen",
        )
    assert ask(daemon, SCREEN, **asked)["code"] == "not_allowed"
    assert ask(daemon, STAFF, **asked, token=token(monkeypatch, "manager"))["code"] == "not_allowed"
    late = token(monkeypatch, "manager", now_us=5_000_000)
    assert ask(daemon, SCREEN, **asked, token=late)["code"] == "signed_out"
    assert "clock_stepped" in str(floor(daemon)["faults"])
    answer = ask(daemon, SCREEN, **asked, token=token(monkeypatch, "supervisor"))
    assert (answer["ok"], answer["cleared"]) == (True, ["clock_stepped"])
    assert not any(approvals(daemon).values())


def test_an_approval_at_a_screen_is_journaled_with_person_role_and_console(
    house: HouseMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    public = tmp_path / "sign-in.pub"
    public.write_text(KEY.public_key().public_bytes_raw().hex(), encoding="ascii")
    one = house(sign_in_key=public)
    daemon = one.open()
    daemon.faults.report(Fault("clock_stepped", "wall clock", "set back by 3 h"))
    ask(daemon, SCREEN, do="approve", what="clock", who="eve", token=token(monkeypatch, "manager"))
    noted = [bytes(row.body) for row in one.rows() if row.body is not None and b"approve clock" in row.body]
    assert len(noted) == 1
    for fact in (b'"who":"ann"', b'"role":"manager"', b'"console":"pit 1"'):
        assert fact in noted[0]


def test_the_set_of_dice_in_play_is_named_between_two_rolls(daemon: Daemon) -> None:
    may = floor(daemon)["may"]
    assert isinstance(may, dict)
    assert "dice_set" in may["boxperson"]
    assert "dice_set" not in may["technician"]
    play(daemon, [input_at(10 * SECOND_US, "dice_set", what="3")])
    assert floor(daemon)["state"]["dice_set"] == "3"  # type: ignore[index]  # JSON
    play(daemon, throw(20 * SECOND_US, (3, 4), confidence=0.4))
    assert "dice_set" not in floor(daemon)["may"]["boxperson"]  # type: ignore[index]  # JSON


def test_a_screen_input_that_is_not_listed_for_the_role_has_no_effect(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(daemon, throw(10 * SECOND_US, (3, 4), confidence=0.4))
    answer = floor(daemon)
    may = answer["may"]
    assert isinstance(may, dict)
    for role in STAFF_ROLES:
        signed = token(monkeypatch, role)
        for name in sorted(set(WORDS) - set(may[role])):
            for arguments in WORDS[name]:
                word = {"do": "input", "name": name.partition(" ")[0], **arguments}
                ask(daemon, SCREEN, **word, by="manager", who="eve", token=signed)
        daemon.clock.reach(daemon.clock.now_us() + SECOND_US)
        drain(daemon)
        for fact in ("state", "lock", "testing", "awaited", "results", "bets", "attempt"):
            assert floor(daemon)[fact] == answer[fact], (role, fact)
