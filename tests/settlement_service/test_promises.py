"""Properties of every history: money is conserved, and actions happen once and in order."""

import contextlib
import random
import tempfile

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.journal.keys import Key
from controller.publish.events import read_event
from controller.settlement_service.deliveries import AcknowledgedDelivery
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.intake import Policies
from tests.settlement_service.rig import House, SealedTable

PLAYERS = ("ann", "bob")
FLAT = ("pass", "dont_pass", "come", "dont_come", "field", "any7", "horn", "whirl", "big6")
NUMBERED = ("place", "hard")

faces = st.integers(1, 6)
craps_bets = st.tuples(
    st.just("bet"),
    st.sampled_from(PLAYERS),
    st.sampled_from(FLAT + NUMBERED),
    st.sampled_from((100, 101, 400, 500, 999)),
    st.sampled_from((4, 5, 6, 8)),
)
odds = st.tuples(st.just("odds"), st.integers(0, 5), st.sampled_from((100, 300, 350)))
changes = st.tuples(
    st.just("change"), st.integers(0, 8), st.sampled_from(("remove", "increase", "reduce", "working"))
)
craps_play = st.one_of(
    craps_bets,
    craps_bets,
    odds,
    changes,
    st.tuples(st.just("roll"), faces, faces),
    st.tuples(st.just("roll"), faces, faces),
    st.tuples(st.just("no_roll"), st.sampled_from(("no_wall_hit", "power_lost"))),
    st.tuples(st.just("corrected"), faces, faces),
    st.tuples(st.just("corrected_void")),
    st.tuples(st.just("shooter"), st.sampled_from(("1", "2"))),
    st.tuples(st.just("reopen")),
    st.tuples(st.just("table_opens")),
)
wheel_play = st.one_of(
    st.tuples(
        st.just("wheel_bet"), st.sampled_from(PLAYERS), st.sampled_from((100, 250)), st.integers(0, 36)
    ),
    st.tuples(st.just("spin"), st.integers(0, 36)),
    st.tuples(st.just("no_spin")),
    st.tuples(st.just("spin_corrected"), st.one_of(st.none(), st.integers(0, 36))),
)


class Play:
    """Plays scripts at a table; outcomes are repeated, and reordered within a transaction."""

    def __init__(self, house: House, table: SealedTable, chance: random.Random) -> None:
        self.house = house
        self.table = table
        self.chance = chance
        self.published: list[bytes] = []
        self.made: list[str] = []
        self.correctable = False

    def act(self, act: tuple[object, ...]) -> None:
        """Do one action; the rules may refuse it."""
        word, *rest = act
        with contextlib.suppress(RequestRefused):
            getattr(self, f"_{word}")(*rest)

    def _tell(self, events: list[bytes]) -> None:
        mixed = [*events, *self.chance.sample(self.published, min(2, len(self.published)))]
        self.chance.shuffle(mixed)
        cut = self.chance.randrange(len(mixed) + 1)
        answers = [*self.house.deliver(mixed[:cut]), *self.house.deliver(mixed[cut:])]
        acked = {answer.id for answer in answers if isinstance(answer, AcknowledgedDelivery)}
        assert acked >= {read_event(event).id for event in events}, answers
        self.published += events

    def _id(self) -> str:
        self.made.append(f"{self.table.name}-{len(self.made)}")
        return self.made[-1]

    def _bet(self, player: str, wager: str, amount: int, number: int) -> None:
        more = {"number": number} if wager in NUMBERED else {}
        self.house.bets(self.table, player, self._id(), wager, amount, **more)

    def _odds(self, base: int, amount: int) -> None:
        if self.made:
            behind = self.made[-1 - base % len(self.made)]
            self.house.bets(self.table, "ann", self._id(), "pass_odds", amount, base=behind)

    def _change(self, which: int, do: str) -> None:
        if self.made:
            asked: dict[str, object] = {"do": do, "id": self.made[-1 - which % len(self.made)]}
            asked |= {"to": 600} if do in ("increase", "reduce") else {"on": False} if do == "working" else {}
            self.house.desk.change(self.house.new_identity(), self.table.name, asked)

    def _roll(self, one: int, two: int) -> None:
        self._tell(self.table.rolls(one, two))
        self.correctable = True

    def _no_roll(self, code: str) -> None:
        self._tell(self.table.no_roll(code))
        self.correctable = True

    def _corrected(self, one: int, two: int) -> None:
        if self.correctable:
            self._tell(self.table.roll_corrected(one, two))

    def _corrected_void(self) -> None:
        if self.correctable:
            self._tell(self.table.roll_corrected())

    def _shooter(self, seat: str) -> None:
        if self.table.shooter != seat:
            self._tell([self.table.takes_dice(seat)])

    def _reopen(self) -> None:
        self.house.reopen()

    def _table_opens(self) -> None:
        self._tell([self.table.open_table()])
        self.correctable = False

    def _wheel_bet(self, player: str, amount: int, number: int) -> None:
        self.house.bets(self.table, player, self._id(), "straight", amount, numbers=[str(number)])

    def _spin(self, number: int) -> None:
        self._tell(self.table.spins(str(number)))
        self.correctable = True

    def _no_spin(self) -> None:
        self._tell(self.table.no_spin())
        self.correctable = True

    def _spin_corrected(self, number: int | None) -> None:
        if self.correctable:
            self._tell(self.table.spin_corrected(None if number is None else str(number)))


def history(rules: str, acts: list[tuple[object, ...]], policies: Policies, seed: int, key: Key) -> None:
    """Play a history on a new database, and check the result."""
    with tempfile.TemporaryDirectory() as folder:
        house = House(f"sqlite:///{folder}/settlement.db", policies)
        table = SealedTable("t1", key)
        house.enrol(table, rules)
        for player in PLAYERS:
            house.player(player, 3_000)
        play = Play(house, table, random.Random(seed))
        for act in acts:
            play.act(act)
        proof = house.proof()
        house.store.close()
    assert proof.faults == ()
    assert sum(proof.accounts.values()) == 0
    assert proof.accounts["cage"] == -6_000
    assert proof.accounts.get("at_risk", 0) >= 0


_BOUNDED = settings(
    max_examples=15,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@_BOUNDED
@given(
    acts=st.lists(craps_play, max_size=30),
    rules=st.sampled_from(("craps-12-034", "craps-v1")),
    refunds=st.booleans(),
    seed=st.integers(0, 100),
)
def test_any_session_of_craps_keeps_the_money(
    key: Key, acts: list[tuple[object, ...]], rules: str, refunds: bool, seed: int
) -> None:
    history(rules, acts, Policies(malfunction="refund" if refunds else "stand"), seed, key)


@_BOUNDED
@given(acts=st.lists(st.one_of(wheel_play, st.just(("reopen",))), max_size=30), seed=st.integers(0, 100))
def test_any_session_of_roulette_keeps_the_money(key: Key, acts: list[tuple[object, ...]], seed: int) -> None:
    history("roulette", acts, Policies(), seed, key)
