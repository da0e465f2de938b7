"""Properties of a High Roller table under random draws, purchases, throws and inputs."""

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.machines.setup import State
from controller.model.outcomes import BonusPaid, GameStarted, GameWon, RollCorrected
from controller.model.readings import AnyReading, Card
from controller.model.rulesets import Calls
from controller.settings.rulesets import load_ruleset
from drivers.sim import high_roller
from tests.engine.play import Played
from tests.scenes import SECOND_US, in_order, input_at, throw
from tests.sim.play import outcomes_of

RULES = load_ruleset("high-roller-12-005")
THROWS = [*throw(20 * SECOND_US, (3, 4)), *throw(30 * SECOND_US, (1, 1), short_mm=(0, 100))]
THROWS += [*throw(40 * SECOND_US, (6, 6)), *throw(50 * SECOND_US, (3, 3), confidence=0.3)]
NAMES = [
    *("draw_button", "buy", "set_card", "start_roll", "decline", "leave", "closing", "void", "settled"),
    *("no_roll", "set_dice", "accept", "dice_collected", "seats", "open_table", "close_table", "lock"),
    *("unlock", "new_shooter", "misdeal", ""),
]
ARBITRARY = st.builds(
    lambda t, name, seat, count, card, what, dice: input_at(
        t, name, "dealer", seat=seat, count=count, card=card, what=what, dice=dice
    ),
    st.integers(0, 60 * SECOND_US),
    st.sampled_from(NAMES),
    st.none() | st.sampled_from(["1", 2, "3", "", "²", "x"]),
    st.none() | st.sampled_from([-1, 0, 1, 2, 3, 200, 10**9]),
    st.none() | st.sampled_from(["Q", "7", "7h", "12", "K", "", "99"]),
    st.none() | st.sampled_from(["game", "7", "Q", ""]),
    st.none() | st.lists(st.integers(-1, 7), max_size=3).map(tuple),
)
CARDS = st.builds(
    lambda t, rank, to: Card(t=t, dev="shoe", rank=rank, to=to),
    st.integers(0, 60 * SECOND_US),
    st.none() | st.sampled_from(["7", "Q", 12, 6, "A", "", 0, -3]),
    st.none() | st.sampled_from(["1", 2, "3", ""]),
)
OPENING: list[AnyReading] = [
    input_at(1, "draw_button", "dealer", seat="1", card="Q"),
    input_at(2, "draw_button", "dealer", seat=2, card="9"),
    input_at(3, "buy", "dealer", seat="1", count=1),
    Card(t=4, dev="shoe", rank="7"),
    input_at(5, "buy", "dealer", seat=2, count=1),
    Card(t=6, dev="shoe", rank="7"),
]


@given(
    st.lists(ARBITRARY | CARDS | st.sampled_from(THROWS), max_size=60),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["automatic", "confirm"]),
)
@settings(derandomize=True, max_examples=200, deadline=None)
def test_no_sequence_of_readings_and_inputs_raises_or_leaves_a_gap(
    readings: list[AnyReading], opened: bool, tidy: bool, cut: bool, calls: Calls
) -> None:
    script = [*(OPENING if opened else []), *(in_order(readings) if tidy else readings)]
    played = Played(ruleset=RULES, state=State(calls=calls)).feed(script).finish(cut=cut)
    assert [o.seq for o in played.outcomes] == list(range(1, len(played.outcomes) + 1))
    state = played.session.state()
    again = Played(ruleset=RULES, state=state, first=played.session.first())
    assert again.session.state() == state
    assert again.session.first() == played.session.first()


@given(st.integers(0, 10_000))
@settings(derandomize=True, max_examples=12, deadline=None)
def test_every_cent_of_every_game_is_rake_prize_or_bonus_pot(seed: int) -> None:
    """gross = rake + bonus + prize after every correction, and the pot pays out all its contents."""
    outcomes = outcomes_of(*high_roller.simulate(seed, 3)[:2], arrivals=True)
    cards: dict[int, int] = {}
    pot_cents = 0
    before: dict[int, int] = {}
    for outcome in outcomes:
        match outcome.data:
            case GameStarted() as started:
                cards[started.game] = sum(map(len, started.cards.values()))
            case GameWon() as won:
                before[won.game] = pot_cents
                assert won.pot.gross == 100 * cards[won.game]
                assert won.pot.gross == won.pot.rake + won.pot.bonus + won.pot.prize
                assert won.bonus_paid in (0, pot_cents + won.pot.bonus)
                pot_cents += won.pot.bonus - won.bonus_paid
            case RollCorrected(game=int() as game) if game in before:
                pot_cents = before.pop(game)
            case BonusPaid() as bonus:
                assert bonus.amount > 0
            case _:
                pass
