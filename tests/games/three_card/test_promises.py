"""Properties of a Three Card Poker table under random deals, inputs and faults."""

import re
from collections.abc import Sequence
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.machines.setup import State
from controller.model.effects import Effect, Judged, Lamp, Proposed
from controller.model.outcomes import DealCalled, DealCorrected, Outcome
from controller.model.readings import AnyReading, Card, DeviceDown, DeviceFault, DeviceUp, Input, Switch
from controller.model.rulesets import Calls
from controller.model.verdicts import DealVerdict
from controller.rules.cards.deal import judge_deal
from controller.settings.rulesets import load_ruleset
from drivers.sim import three_card
from tests.engine.play import Played
from tests.scenes import SECOND_US, in_order, input_at

RULES = load_ruleset("three-card-poker-12-014")
A_CARD = re.compile(r"(?<![\w/])([2-9TJQKA]|10)[cdhs](?![\w/])|\"(rank|suit)\":|\"what\":\"[2-9TJQKA]")
"""A card's face in a published text, or a key that could hold a face."""
SEATS = ("1", "2", "3")
DECK = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]


def faces_in(effects: Sequence[Effect]) -> list[str]:
    """Find every card in the texts for people, lamps and proposals, except in a call of the hands."""
    shown = [
        msgspec.json.encode(effect).decode()
        for effect in effects
        if isinstance(effect, Lamp | Proposed)
        or (isinstance(effect, Outcome) and not isinstance(effect.data, DealCalled | DealCorrected))
    ]
    return [text for text in shown if A_CARD.search(text)]


class Chance:
    """A random deal, with random actions and faults."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.t = SECOND_US
        self.readings: list[AnyReading] = []
        self.deck = self.rng.sample(DECK, 52)

    def step(self, reading: AnyReading) -> None:
        """Add a reading a moment after the last."""
        self.t += self.rng.randint(1, 800_000)
        self.readings.append(msgspec.structs.replace(reading, t=self.t))

    def card(self, to: str | None) -> Card:
        """Draw the next card, which is sometimes unreadable or a duplicate."""
        text = self.deck.pop()
        if self.rng.random() < 0.01:
            text = self.rng.choice(DECK)
        if self.rng.random() < 0.03:
            return Card(t=0, dev="shoe", to=to)
        return Card(t=0, dev="shoe", rank=text[0], suit=text[1], to=to)  # type: ignore[arg-type]  # a suit

    def trouble(self) -> AnyReading:
        """Return a random fault or a random input."""
        seat = self.rng.choice((*SEATS, "dealer", None))
        face = self.rng.choice(DECK)
        choices: list[AnyReading] = [
            Switch(t=0, dev="shoe", name="shoe_lid", open=self.rng.random() < 0.5),
            DeviceDown(t=0, dev="shoe", reason="unplugged"),
            DeviceFault(t=0, dev="shoe", reason="noise"),
            DeviceUp(t=0, dev="shoe"),
            input_at(0, "misdeal", "dealer"),
            input_at(0, "accept", "dealer"),
            input_at(0, "set_card", "dealer", seat=seat, card=face),
            input_at(0, "set_card", "dealer", seat=seat, card=face, what=self.rng.choice(DECK)),
            input_at(0, "settled", "dealer"),
            self.card(seat),
        ]
        return self.rng.choice(choices)

    def deal(self, *, directed: bool) -> list[AnyReading]:
        """Deal once, with people acting in between and occasional faults."""
        for number in range(3 * (len(SEATS) + 1)):
            to = (*SEATS, "dealer")[number % (len(SEATS) + 1)]
            self.step(self.card(to if directed else None))
            if self.rng.random() < 0.02:
                self.step(self.trouble())
        for seat in self.rng.sample(SEATS, len(SEATS)):
            if self.rng.random() < 0.1:
                self.step(self.trouble())
            by = self.rng.choice(("player", "dealer"))
            self.step(input_at(0, self.rng.choice(("play", "fold")), by, seat=seat))
        return self.readings


@given(st.integers(0, 2**32), st.booleans(), st.sampled_from(["automatic", "confirm"]))
@settings(derandomize=True, max_examples=150, deadline=None)
def test_no_card_is_reported_before_every_position_has_acted(seed: int, directed: bool, calls: Calls) -> None:
    """Before the call, no outcome, lamp or proposal shows a card."""
    readings = Chance(seed).deal(directed=directed)
    played = Played(ruleset=RULES, state=State(calls=calls)).feed(input_at(0, "seats", "dealer", seats=SEATS))
    acted: set[str] = set()
    for reading in readings:
        told_before = len(played.effects)
        played.feed(reading)
        played.effects += played.session.advance(reading.t + 130_000)
        if isinstance(reading, Input) and reading.name in ("play", "fold"):
            acted.add(str(reading.seat))
        new = played.effects[told_before:]
        if acted != set(SEATS):
            assert not [e for e in new if isinstance(e, Outcome) and e.type == "deal.called"]
            assert faces_in(new) == []
    played.finish()
    outcomes_only = [effect for effect in played.effects if not isinstance(effect, Proposed)]
    assert faces_in(outcomes_only) == [], "no void, review or refusal may name a card afterwards"


def test_the_search_for_cards_finds_them() -> None:
    assert all(A_CARD.search(text) for text in ('{"seen":"3 holds Qh"}', '{"rank":"Q"}', '["10s"]'))
    assert not A_CARD.search('{"id":"table-7/s1/12","seen":"position 3 has 2 cards, not 3"}')


ARBITRARY = st.builds(
    lambda t, name, by, seat, seats, card, what, on: input_at(
        t, name, by, seat=seat, seats=seats, card=card, what=what, on=on
    ),
    st.integers(0, 40 * SECOND_US),
    st.sampled_from(
        [
            *("seats", "no_more_bets", "open_bets", "play", "fold", "set_card", "misdeal", "accept", "void"),
            *("settled", "paid", "lock", "unlock", "open_table", "close_table", "test_mode", "closing", ""),
        ]
    ),
    st.sampled_from(["dealer", "player", ""]),
    st.none() | st.sampled_from(["1", "2", 3, "dealer", 0, "", "x"]),
    st.none() | st.lists(st.sampled_from(["1", "2", 3, "dealer", "²", ""]), max_size=4).map(tuple),
    st.none() | st.sampled_from(["Qh", "10s", "zz", "", "2c"]),
    st.none() | st.sampled_from(["Qh", "", "2c"]),
    st.none() | st.booleans(),
)
CARDS = st.builds(
    lambda t, rank, suit, to: Card(t=t, dev="shoe", rank=rank, suit=suit, to=to),
    st.integers(0, 40 * SECOND_US),
    st.none() | st.sampled_from(["2", 10, "T", "Q", "A", "?", "", 99, -1]),
    st.none() | st.sampled_from(["c", "d", "h", "s"]),
    st.none() | st.sampled_from(["1", "2", 3, "dealer", "", "²"]),
)
HEALTH = st.builds(
    lambda t, kind: kind(t=t, dev="shoe"),
    st.integers(0, 40 * SECOND_US),
    st.sampled_from([DeviceDown, DeviceUp, DeviceFault]),
)
LIDS = st.builds(
    lambda t, name, is_open: Switch(t=t, dev="shoe", name=name, open=is_open),
    st.integers(0, 40 * SECOND_US),
    st.sampled_from(["shoe_lid", "door", "key"]),
    st.booleans(),
)


@given(
    st.lists(ARBITRARY | CARDS | CARDS | HEALTH | LIDS, max_size=60),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["automatic", "confirm"]),
)
@settings(derandomize=True, max_examples=200, deadline=None)
def test_no_sequence_of_readings_and_inputs_raises_or_leaves_a_gap(
    readings: list[AnyReading], tidy: bool, cut: bool, calls: Calls
) -> None:
    played = Played(ruleset=RULES, state=State(calls=calls))
    played.feed(in_order(readings) if tidy else readings).finish(cut=cut)
    assert [o.seq for o in played.outcomes] == list(range(1, len(played.outcomes) + 1))
    waits = played.types("deal")[-1:] == ["deal.review"] or calls == "confirm"
    assert cut or waits or not played.session._game.open_attempt, "no attempt may hang silently"


@given(st.integers(0, 2**32), st.booleans())
@settings(derandomize=True, max_examples=80, deadline=None)
def test_called_hands_are_the_hands_on_the_felt(seed: int, directed: bool) -> None:
    """A hand called from the sensors' readings has exactly the cards that were dealt to it."""
    readings = Chance(seed).deal(directed=directed)
    played = Played(ruleset=RULES).feed(input_at(0, "seats", "dealer", seats=SEATS), readings).finish()
    for called in played.data(DealCalled):
        if called.grade != "sensors" or called.deal != 1:
            continue
        cards = [reading for reading in readings if isinstance(reading, Card)][:12]
        entered = {r.card for r in readings if isinstance(r, Input) and r.name == "set_card"}
        for place, position in enumerate(SEATS):
            own = cards[place :: len(SEATS) + 1] if not directed else [c for c in cards if c.to == position]
            dealt = {f"{card.rank}{card.suit}" for card in own if card.rank is not None}
            assert set(called.hands[position]) - dealt <= entered


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("calls", ["automatic", "confirm"])
def test_every_verdict_follows_again_from_its_evidence(seed: int, calls: Calls) -> None:
    """The kept readings, including people's inputs, and the basis are sufficient to judge again."""
    assert RULES.deal is not None
    _, feed, _ = three_card.simulate(seed, directed=seed % 2 == 0)
    played = Played(ruleset=RULES, state=State(calls=calls)).feed([reading for _, reading in feed]).finish()
    verdicts = [effect for effect in played.effects if isinstance(effect, Judged)]
    assert len(verdicts) > 5
    for judged in verdicts:
        assert isinstance(judged.verdict, DealVerdict)
        again = judge_deal(
            judged.readings,
            judged.verdict.seats,
            RULES.deal,
            decided_at_us=judged.basis.decided_at_us,
            sources=judged.basis.sources,
            called=judged.basis.called,
        )
        assert again == judged.verdict


@pytest.mark.parametrize("cut_after", range(16))
def test_power_lost_at_each_card_and_act_leaves_one_review_or_nothing(cut_after: int) -> None:
    readings = [
        Card(
            t=(2 + n) * SECOND_US, dev="shoe", rank="23456789TJQK"[n], suit="c", to=(*SEATS, "dealer")[n % 4]
        )
        for n in range(12)
    ]
    acts: list[AnyReading] = [
        input_at((20 + n) * SECOND_US, "play", "dealer", seat=seat) for n, seat in enumerate(SEATS)
    ]
    seated = Played(ruleset=RULES).feed(input_at(0, "seats", "dealer", seats=SEATS))
    played = seated.feed([*readings, *acts][:cut_after]).finish(cut=True)
    assert played.types("deal") == (["deal.review"] if cut_after else [])
    assert faces_in(played.effects) == []
