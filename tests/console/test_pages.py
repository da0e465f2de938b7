"""The pages for every state of the controller: none fails, and none shows secret data."""

import dataclasses

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from controller.console.answers import (
    Attempt,
    AttemptOutcome,
    Awaited,
    Bets,
    Board,
    BoardResult,
    Data,
    Fault,
    Floor,
    HighRoller,
    Lock,
    Reason,
    Result,
    State,
    ThreeCard,
)
from controller.console.feed import ScreenState
from controller.console.guard import Session
from controller.console.pages import PANELS, Pages
from controller.console.words import CAUSES, causes
from controller.model.geometry import STANDARD_POCKETS
from controller.model.rulesets import DEAL_CAUSES, SPIN_CAUSES, THROW_CAUSES

PAGES = Pages()
ROLES = ("boxperson", "dealer", "stickperson", "supervisor", "manager", "technician")
INPUTS = (
    *(
        "accept",
        "void",
        "no_roll",
        "no_spin",
        "misdeal",
        "set_dice",
        "set_number",
        "set_card",
        "settled",
        "paid",
    ),
    *(
        "dice_collected",
        "new_shooter",
        "pass_dice",
        "run_out",
        "open_bets",
        "no_more_bets",
        "seats",
        "play",
        "fold",
    ),
    *(
        "draw_button",
        "buy",
        "start_roll",
        "decline",
        "leave",
        "closing",
        "chips",
        "inspected",
        "lock",
        "unlock",
    ),
    *("open_table", "close_table", "test_mode on", "test_mode off"),
    *("dice_set", "approve identity", "approve device", "approve clock"),
)
WORDS = st.text(max_size=20)
REASONS = st.lists(
    st.builds(
        Reason,
        code=st.sampled_from(tuple(CAUSES)) | WORDS,
        rule=st.none() | WORDS,
        die=st.none() | st.just(1),
        seen=WORDS,
    ),
    max_size=3,
).map(tuple)
DATA = st.one_of(
    st.builds(
        Data,
        dice=st.just((3, 4)),
        total=st.just(7),
        call=st.none() | st.just("seven_out"),
        by=st.none() | WORDS,
    ),
    st.builds(Data, number=st.sampled_from(("0", "00", "17")), colour=st.none() | st.just("black")),
    st.builds(
        Data,
        hands=st.just({"1": ("Qh", "Jd", "2c")}),
        dealer=st.just(("Kc", "8d", "3s")),
        announcement=st.none() | WORDS,
    ),
    st.builds(Data, reasons=REASONS, by=st.just("sensors")),
)
ENDINGS = {
    "roll": ("called", "no_roll", "review", "corrected"),
    "spin": ("called", "no_spin", "review", "corrected"),
    "deal": ("called", "void", "review", "corrected"),
}
NAMES = st.sampled_from([f"{word}.{ending}" for word, endings in ENDINGS.items() for ending in endings])
TOLD = st.lists(
    st.builds(AttemptOutcome, type=NAMES, sequence=st.just(1), data=DATA), min_size=1, max_size=3
).map(tuple)
AWAITED = st.builds(
    Awaited,
    attempt=st.sampled_from(("roll", "spin", "deal")),
    number=st.integers(1, 99),
    state=st.sampled_from(("review", "proposed")),
    reasons=REASONS,
    missing=REASONS,
    seen=WORDS,
    proposes=WORDS,
    may=st.lists(st.sampled_from(INPUTS)).map(tuple),
)
STATES = st.builds(
    State,
    table=st.sampled_from(("open", "closed")),
    point=st.none() | st.just(6),
    shooter=st.none() | WORDS,
    run_out=st.booleans(),
    inspect=st.just(("dice",)) | st.just(()),
    high_roller=st.none()
    | st.just(HighRoller(seats=(1, "2"), button="1", cards={"1": (7,)}, owed={"2": 1}, gone=("2",))),
    three_card=st.none() | st.just(ThreeCard(seats=("1", "2"))),
)
APPROVED = st.sampled_from((None, "identity", "device", "clock"))
FLOORS = st.builds(
    Floor,
    table=WORDS,
    ruleset=WORDS,
    title=WORDS,
    game=st.sampled_from(("craps", "roulette", "high_roller", "three_card", "over_under")),
    hold_ms=st.sampled_from((250.0, 2000.0)),
    pockets=st.just(STANDARD_POCKETS["american"]),
    headline=WORDS,
    up=st.booleans(),
    state=STATES,
    faults=st.lists(
        st.builds(Fault, code=WORDS, where=WORDS, found=WORDS, what=WORDS, next_step=WORDS, approve=APPROVED),
        max_size=2,
    ).map(tuple),
    lock=st.sampled_from(("locked", "unlocked")),
    locked=st.none() | st.builds(Lock, by=WORDS, who=st.none() | WORDS),
    testing=st.booleans(),
    standing=st.none() | st.integers(1, 99),
    attempt=st.builds(
        Attempt,
        word=st.sampled_from(("roll", "spin", "deal")),
        number=st.integers(0, 99),
        under_way=st.booleans(),
    ),
    bets=st.builds(Bets, open=st.booleans()),
    awaited=st.none() | AWAITED,
    may=st.lists(st.sampled_from(INPUTS)).map(lambda names: dict.fromkeys(ROLES, tuple(names))),
    results=st.lists(
        st.builds(Result, attempt=st.just("roll"), number=st.integers(1, 99), outcomes=TOLD), max_size=3
    ).map(tuple),
)
BOARDS = st.builds(
    Board,
    table=WORDS,
    state=st.sampled_from(("open", "closed")),
    lock=st.sampled_from(("locked", "unlocked")),
    bets=st.sampled_from(("open", "closed")),
    round=st.just(1),
    point=st.none() | st.just(4),
    awaited=st.none() | AWAITED,
    results=st.lists(
        st.builds(
            BoardResult, type=NAMES, subject=st.sampled_from(("roll/1", "spin/2", "deal/3")), data=DATA
        ),
        max_size=3,
    ).map(tuple),
)
MANY = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking a whole floor takes minutes
)


def session(role: str) -> Session:
    return Session("secret", "ann", ROLES, role)


@MANY
@given(floor=st.none() | FLOORS, role=st.sampled_from(ROLES))
def test_the_staffs_page_renders_any_state_with_only_the_keys_that_the_controller_lists(
    floor: Floor | None, role: str
) -> None:
    panels = PAGES.panels(ScreenState(floor=floor), session(role))
    assert set(panels) == set(PANELS)
    touchable = panels["ruling"] + panels["now"] + panels["table"]
    if floor is None or not floor.up:
        assert "data-say" not in touchable
        assert "data-word" not in touchable
    if floor is not None:
        bare = msgspec.structs.replace(floor, may=dict.fromkeys(ROLES, ()), up=True)
        shown = "".join(PAGES.panels(ScreenState(floor=bare), session(role)).values())
        assert "data-say" not in shown
        assert "data-word" not in shown


@MANY
@given(floor=st.none() | FLOORS, board=st.none() | BOARDS)
def test_the_players_page_renders_any_state(floor: Floor | None, board: Board | None) -> None:
    assert PAGES.display(ScreenState(floor=floor, board=board, counts={"7": 3, "17": 1, "plays": 2}))


def test_a_fault_that_a_person_clears_has_its_key_for_the_roles_that_the_controller_lists() -> None:
    fault = Fault(code="clock_stepped", what="the clock jumped", approve="clock", locks=True)
    floor = Floor(
        table="t", ruleset="r", title="t", game="craps", up=True, faults=(fault,),
        may={"supervisor": ("approve clock",)},
    )  # fmt: skip
    shown = PAGES.panels(ScreenState(floor=floor), session("supervisor"))["trouble"]
    assert """data-say='{"approve": "clock"}' data-confirm=""" in shown
    assert "data-say" not in PAGES.panels(ScreenState(floor=floor), session("boxperson"))["trouble"]


def test_a_controller_that_responds_without_a_journal_is_not_reported_as_silent() -> None:
    floor = Floor(
        table="t", ruleset="r", title="t", game="craps", headline="journal_missing (none): restore it"
    )
    panels = PAGES.panels(ScreenState(floor=floor), session("boxperson"))
    assert "does not respond" not in panels["state"]
    assert "journal_missing (none): restore it" in panels["state"]
    assert "No answer" not in panels["head"]


def test_the_staffs_page_states_why_the_tables_state_is_unknown() -> None:
    why = "the controller and the console are from different releases; restart the console"
    state = PAGES.panels(ScreenState(why=why), session("boxperson"))["state"]
    assert why in state
    assert "does not respond" not in state


def test_a_game_that_the_console_does_not_know_has_the_keys_of_its_attempts() -> None:
    floor = Floor(
        table="t", ruleset="r", title="t", game="over_under", up=True, attempt=Attempt(number=7),
        awaited=Awaited(attempt="roll", number=7, state="review", may=("set_dice", "no_roll")),
        may={"dealer": ("set_dice", "no_roll", "new_shooter")},
    )  # fmt: skip
    panels = PAGES.panels(ScreenState(floor=floor), session("dealer"))
    assert "Rule roll 7 as {}" in panels["ruling"]
    assert """data-say='{"name": "no_roll", "reason": "called", "what": "7"}'""" in panels["ruling"]
    assert "New shooter" in panels["now"]


def test_the_set_of_dice_is_selected_by_its_number() -> None:
    floor = Floor(
        table="t", ruleset="r", title="t", game="craps", up=True, state=State(dice_set="3"),
        may={"boxperson": ("dice_set",)},
    )  # fmt: skip
    shown = PAGES.panels(ScreenState(floor=floor), session("boxperson"))["table"]
    assert """data-say='{"name": "dice_set", "what": "5"}'""" in shown
    assert "Set of dice in play: 3" in shown


def test_text_typed_by_people_is_never_html() -> None:
    floor = Floor(
        table="<b>",
        ruleset="r",
        title="t",
        game="craps",
        up=True,
        locked=Lock(by="<script>", says="<img src=x>"),
    )
    page = PAGES.staff(ScreenState(floor=floor), dataclasses.replace(session("dealer"), person="<i>"))
    for typed in ("<b>t", "<script>l", "<img src=x>", "<i>,"):
        assert typed not in page


@pytest.mark.parametrize("code", sorted({*THROW_CAUSES, *SPIN_CAUSES, *DEAL_CAUSES}))
def test_every_cause_of_a_rule_set_has_a_text(code: str) -> None:
    assert code in CAUSES


@pytest.mark.parametrize("code", ["too_few_revolutions", "revolutions_unclear"])
def test_a_cause_about_revolutions_holds_whatever_number_the_rule_set_requires(code: str) -> None:
    ((said, _),) = causes([Reason(code=code, rule="R-SPIN-2")])
    assert "enough" in said or "too few" in said
    assert "four" not in said


@pytest.mark.parametrize("code", [code for code, words in CAUSES.items() if "{die}" in words])
def test_a_cause_of_both_dice_is_stated_once(code: str) -> None:
    both = [Reason(code=code, rule="R-1", die=1), Reason(code=code, rule="R-1", die=2)]
    ((said, rule),) = causes(both)
    assert rule == "R-1"
    assert "die 1" not in said
    assert len(causes([both[0]])) == 1
    assert "ie 1" in causes([both[0]])[0][0]


def test_a_throw_under_review_is_not_shown_as_a_result() -> None:
    published = (
        AttemptOutcome(
            type="roll.review", sequence=1, data=Data(dice=(3, 4), reasons=(Reason(code="wall_unclear"),))
        ),
    )
    floor = Floor(
        table="t", ruleset="r", title="t", game="craps", up=True,
        results=(Result(attempt="roll", number=1, outcomes=published),),
    )  # fmt: skip
    shown = PAGES.panels(ScreenState(floor=floor), session("boxperson"))["results"]
    assert "under review" in shown
    assert "<svg" not in shown


@pytest.mark.parametrize(("ending", "shown"), [("called", True), ("review", False)])
def test_a_number_under_review_is_not_shown_as_the_last_one(ending: str, shown: bool) -> None:
    published = (AttemptOutcome(type=f"spin.{ending}", sequence=1, data=Data(number="35", colour="black")),)
    floor = Floor(
        table="t", ruleset="r", title="t", game="roulette", up=True,
        results=(Result(attempt="spin", number=1, outcomes=published),),
    )  # fmt: skip
    assert ("35" in PAGES.panels(ScreenState(floor=floor), session("dealer"))["state"]) is shown
