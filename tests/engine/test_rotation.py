"""A recording that continues another has the same outcomes as a single recording."""

from collections.abc import Iterable

import msgspec
import pytest

from controller.engine.session import Session
from controller.machines.setup import Setup, State
from controller.model.effects import Effect
from controller.model.outcomes import Outcome
from controller.model.readings import (
    AnyReading,
    Card,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    PocketBall,
    Reading,
    RotorIndex,
    WheelStatus,
)
from controller.settings.rulesets import load_ruleset
from tests.rules.wheel.simulator import Scene, spin, wheel
from tests.scenes import SECOND_US, input_at
from tests.wheels import AMERICAN, START_US, frame, game, heard, reports, trusting_rules

WHEEL = wheel()
SHORT = spin(Scene(wheel=WHEEL, revolutions=14.0, pocket=9, bounces=0, begins_us=60 * SECOND_US))
SMART = Setup(table="w", ruleset=trusting_rules(), wheel=AMERICAN)
BEAMS = Setup(
    table="w",
    ruleset=load_ruleset("roulette"),
    wheel=WHEEL,
    sources={"wheel": ("ball_beam", "ball_drop", "rotor_index"), "pockets": ("pocket_ball",)},
)


def came_us(reading: Reading) -> int:
    return reading.t if reading.arrived is None else reading.arrived


def fed(session: Session, readings: Iterable[Reading]) -> list[Effect]:
    effects: list[Effect] = []
    for reading in readings:
        assert isinstance(reading, AnyReading)
        effects += session.advance(came_us(reading))
        effects += session.feed(reading)
    return effects


def outcomes(effects: Iterable[Effect]) -> list[Outcome]:
    return [effect for effect in effects if isinstance(effect, Outcome)]


def whole(setup: Setup, readings: list[Reading]) -> list[Outcome]:
    """Return the outcomes of one session for all readings."""
    session = Session(setup)
    return outcomes([*fed(session, readings), *session.finish()])


def in_pieces(setup: Setup, readings: list[Reading], at_us: int) -> list[Outcome]:
    """Return the outcomes of two sessions; the second starts from a recording's header at this time."""
    before = Session(setup)
    reported = fed(before, (r for r in readings if came_us(r) < at_us))
    reported += before.advance(at_us)
    state = msgspec.structs.replace(before.state(), standing=before.carried_readings())
    state = msgspec.json.decode(msgspec.json.encode(state), type=State)
    after = Session(
        Setup(
            table=setup.table,
            ruleset=setup.ruleset,
            wheel=setup.wheel,
            sources=setup.sources,
            state=state,
            first=before.first(),
        )
    )
    reported += [*fed(after, (r for r in readings if came_us(r) >= at_us)), *after.finish()]
    return outcomes(reported)


def in_order(*readings: Reading) -> list[Reading]:
    return sorted(readings, key=came_us)


def numbered(readings: list[AnyReading]) -> int:
    """Return a time well after the number of the game."""
    return next(word.t for word in reports(readings) if word.state == 5) + 3 * SECOND_US


FIRST = heard(game(12, " 7", "23"))
REST_US = numbered(FIRST)
AWAY = [
    DeviceDown(t=REST_US - SECOND_US, dev="ss2", reason="silent for 2.0 s", code="silent"),
]


def word_of(t: int, state: int, number: int, shown: int) -> WheelStatus:
    return WheelStatus(t=t, dev="ss2", state=state, spin=number, number=shown, flags=0)


def test_a_game_played_while_the_wheel_was_away_is_found_in_the_next_recording() -> None:
    """The wheel counts its games, so the last count shows that a game was played during the absence."""
    played = [r for r in FIRST if r.t < REST_US]
    back = REST_US + 200 * SECOND_US
    away = [
        *AWAY,
        DeviceUp(t=back, dev="ss2"),
        word_of(back, 1, 14, 31),
        word_of(back + SECOND_US, 1, 14, 31),
    ]
    readings = in_order(*(r for r in played if r.t < AWAY[0].t), *away)
    reported = whole(SMART, readings)
    assert [o.type for o in reported if o.type == "spin.review"] == ["spin.review"]
    assert in_pieces(SMART, readings, REST_US + 100 * SECOND_US) == reported


def test_a_game_launched_while_the_table_was_not_in_play_counts_in_no_later_recording() -> None:
    lines = game(12, " 7", "23")
    second = heard(game(13, "23", " 4"), begins_us=REST_US + 60 * SECOND_US)
    rim_us = next(word.t for word in reports(second) if word.state == 3)
    locked = input_at(rim_us - SECOND_US, "lock")
    unlocked = input_at(rim_us + 2 * SECOND_US, "unlock")
    readings = in_order(*heard(lines), *second, locked, unlocked)
    reported = whole(SMART, readings)
    assert [o.type for o in reported if o.type.startswith("spin")] == ["spin.called"]
    assert in_pieces(SMART, readings, rim_us + SECOND_US) == reported


def test_a_device_that_is_down_is_named_with_its_own_reason() -> None:
    second = heard(game(13, "23", " 4"), begins_us=REST_US + 60 * SECOND_US)
    readings = in_order(*(r for r in FIRST if r.t < AWAY[0].t), *AWAY, *reports(second))
    reported = whole(SMART, readings)
    assert "ss2 was down during the spin: silent for 2.0 s" in str(reported)
    assert in_pieces(SMART, readings, REST_US + 30 * SECOND_US) == reported


@pytest.mark.parametrize("code", ["stuck", "babbling", "lost_edges"])
def test_gap_R_8_a_pocket_reader_faulty_since_the_last_recording_proves_no_ball_out(code: str) -> None:
    """The spin would be void without cause if the new recording did not contain the fault."""
    unwell = DeviceFault(t=SECOND_US, dev="pockets", reason="its input does not change", code=code)
    before = spin(Scene(wheel=WHEEL, revolutions=12.0, pocket=3, bounces=0, begins_us=2 * SECOND_US))
    reads = [r for r in SHORT.readings if not isinstance(r, PocketBall)]
    turns = [r.t for r in reads if isinstance(r, RotorIndex)]
    assert sum(t > SHORT.left_us for t in turns) >= 5, "too few revolutions without a pocket reading"
    scene = in_order(*before.readings, msgspec.structs.replace(unwell, t=before.end_us + SECOND_US), *reads)
    published = whole(BEAMS, scene)
    assert [o.type for o in published if o.type.startswith("spin")] == ["spin.called", "spin.review"]
    assert in_pieces(BEAMS, scene, before.end_us + 3 * SECOND_US) == published


def test_a_published_fault_is_not_published_again_in_the_next_recording() -> None:
    fault = DeviceFault(t=SECOND_US, dev="pockets", reason="its input does not change", code="stuck")
    again = msgspec.structs.replace(fault, t=90 * SECOND_US)
    assert in_pieces(BEAMS, [fault, again], 50 * SECOND_US) == whole(BEAMS, [fault, again])


def test_R_SPIN_3_bets_close_as_of_the_last_state_before_a_silence_also_in_the_next_recording() -> None:
    """A cable stalls and then delivers all states together. The next recording begins among them."""
    silent_us = REST_US + 100 * SECOND_US
    back_us = silent_us + 5 * SECOND_US
    readings = in_order(
        *(r for r in FIRST if r.t < REST_US),
        word_of(silent_us, 1, 12, 23),
        word_of(back_us, 1, 12, 23),
        word_of(back_us + 200_000, 3, 13, 23),
        word_of(back_us + 400_000, 4, 13, 23),
    )
    reported = whole(SMART, readings)
    assert [o.t for o in reported if o.type == "bets.closed"][-1] == silent_us
    assert in_pieces(SMART, readings, back_us + 150_000) == reported


HANDS = (("1", "Qh Jd 2c"), ("2", "7s 7d 9h"), ("dealer", "3s Kc 8d"))


def a_deal(begins_us: int) -> list[Reading]:
    """Deal to positions 1 and 2, who play."""
    cards = [
        Card(t=begins_us + n * SECOND_US // 2, dev="shoe", rank=text[0], suit=text[1], to=seat)  # type: ignore[arg-type]  # a suit
        for n, (seat, text) in enumerate((seat, hand.split()[n]) for n in range(3) for seat, hand in HANDS)
    ]
    acts_us = begins_us + 10 * SECOND_US
    acts = [input_at(acts_us + n, "play", "dealer", seat=seat) for n, seat in enumerate("12")]
    return [input_at(begins_us - SECOND_US, "seats", "dealer", seats=("1", "2")), *cards, *acts]


CARDS = Setup(table="c", ruleset=load_ruleset("three-card-poker-12-014"))


def test_T_DEAL_2_a_late_card_of_a_deal_before_the_recording_does_not_close_bets() -> None:
    straggler = Card(t=11 * SECOND_US, dev="shoe", rank="4", suit="h", arrived=110 * SECOND_US)
    readings = in_order(*a_deal(10 * SECOND_US), straggler)
    reported = whole(CARDS, readings)
    assert [o.type for o in reported if o.type.startswith("bets")] == ["bets.closed", "bets.opened"]
    assert in_pieces(CARDS, readings, 100 * SECOND_US) == reported


def test_an_attempt_begun_before_play_never_counts_in_a_later_recording() -> None:
    """The attempt is refused in the same way as without a new recording."""
    straggler = Card(t=11 * SECOND_US, dev="shoe", rank="4", suit="h", arrived=110 * SECOND_US)
    readings = in_order(input_at(9 * SECOND_US, "lock"), input_at(20 * SECOND_US, "unlock"), straggler)
    reported = whole(CARDS, readings)
    assert [o.type for o in reported][-1] == "input.refused"
    assert in_pieces(CARDS, readings, 100 * SECOND_US) == reported


def test_the_journaled_state_does_not_change_with_every_status_of_a_wheel() -> None:
    session = Session(SMART)
    fed(session, heard([frame(1, 12, " 7")] * 4, begins_us=START_US))
    before = session.state()
    fed(session, heard([frame(1, 12, " 7")], begins_us=START_US + 60 * SECOND_US))
    assert session.state() == before
    assert session.carried_readings().wheel is not None
