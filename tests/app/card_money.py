"""A session of Three Card Poker, deal by deal, with the cards and the result of each wager."""

from typing import NamedTuple

from drivers.sim import three_card
from drivers.sim.scenes import Feed, in_order_of_arrival
from drivers.sim.three_card import DEALER, DealtHands
from tests.app.money import MoneySession, Wager

ANTE, PAIR_PLUS, SIDE = 200, 100, 100
BEFORE_THE_CARDS = {"ante": ANTE, "pair_plus": PAIR_PLUS, "side": SIDE}


class Hand(NamedTuple):
    """A position's cards, whether it folds, and each wager's win or loss in cents, by rule id."""

    cards: str
    won: dict[str, int]
    folds: bool = False


class Scene(NamedTuple):
    """One deal: its kind, the dealer's cards, and the positions."""

    kind: str
    dealer: str
    hands: dict[str, Hand]


NOTHING = Hand("Qh Jd Tc", {})
"""A winning hand in a deal that does not count. All stakes are returned."""
DEALS = (
    Scene(
        "plain",
        "Ks 8d 3s",
        {
            "2": Hand(
                "Qh Jd Tc", {"T-RES-3": 2 * ANTE, "T-AB-1": ANTE, "T-PP-2": 5 * PAIR_PLUS, "T-SIDE-1": -SIDE}
            ),
            "3": Hand("9c 4h 2d", {"T-RES-1": -ANTE, "T-BOTH-2": -PAIR_PLUS, "!T-7": -SIDE}, folds=True),
        },
    ),
    Scene(
        "plain",
        "Jc 9d 4s",
        {
            "2": Hand("Ah 7d 2c", {"T-RES-2": ANTE, "T-PP-1": -PAIR_PLUS, "T-SIDE-1": -SIDE}),
            "3": Hand(
                "9h 9s 9c",
                {"T-RES-2": ANTE, "T-AB-1": 3 * ANTE, "T-PP-2": 25 * PAIR_PLUS, "T-SIDE-2": 25 * SIDE},
            ),
        },
    ),
    Scene("misdeal_while_dealing", "Ks 8d 3s", {"2": NOTHING, "3": Hand("9h 9s 9c", {})}),
    Scene(
        "plain",
        "Ad 9h 5c",
        {
            "2": Hand("Kc 7d 2h", {"T-RES-4": -2 * ANTE, "T-PP-1": -PAIR_PLUS, "T-SIDE-1": -SIDE}),
            "3": Hand("6c 6h Td", {"T-RES-3": 2 * ANTE, "T-PP-2": PAIR_PLUS, "T-SIDE-1": -SIDE}),
        },
    ),
    Scene("shoe_opened", "Ks 8d 3s", {"2": NOTHING, "3": Hand("9h 9s 9c", {})}),
    Scene(
        "plain",
        "Kd 9s 4c",
        {
            "2": Hand("Ks 9c 4h", {"!T-3": 0, "T-PP-1": -PAIR_PLUS, "T-SIDE-1": -SIDE}),
            "3": Hand("As Js 6s", {"T-RES-3": 2 * ANTE, "T-PP-2": 3 * PAIR_PLUS, "T-SIDE-1": -SIDE}),
        },
    ),
    Scene(
        "plain",
        "3s 3c Kd",
        {
            "2": Hand(
                "3h 3d 2c", {"T-RES-1": -ANTE, "T-BOTH-2": -PAIR_PLUS, "T-SIDE-2": 25 * SIDE}, folds=True
            ),
            "3": Hand(
                "Ac Kc Qc",
                {"T-RES-3": 2 * ANTE, "T-AB-1": 5 * ANTE, "T-PP-2": 40 * PAIR_PLUS, "T-SIDE-1": -SIDE},
            ),
        },
    ),
    Scene("misdeal_late", "Ks 8d 3s", {"2": NOTHING, "3": Hand("9h 9s 9c", {})}),
)
SEATS = tuple(DEALS[0].hands)
CUT_OFF = 5
"""The deal during which the power fails, before every position has acted. It is void and dealt again."""


def won(deals: int = len(DEALS)) -> int:
    """Return the sum of all wins and losses in the first deals."""
    return sum(cents for deal in DEALS[:deals] for hand in deal.hands.values() for cents in hand.won.values())


def feed() -> Feed:
    """Play the session with a shoe and people. The dealer calls No More Bets before every other deal."""
    table = three_card.Simulation(1, directed=True)
    table.seats = list(SEATS)
    table.enter("seats", seats=SEATS)
    for number, deal in enumerate(DEALS):
        table.wait(8)
        if number % 2:
            table.enter("no_more_bets")
        cards = {seat: hand.cards.split() for seat, hand in deal.hands.items()}
        folds = [seat for seat, hand in deal.hands.items() if hand.folds]
        table.deals += 1
        three_card.KINDS[deal.kind](table, DealtHands({**cards, DEALER: deal.dealer.split()}, folds))
        table.wait(3)
        if deal.kind == "plain":
            table.enter("settled")
    return in_order_of_arrival(table.feed)


class Punter:
    """A player who bets on both positions and plays the hands that do not fold."""

    def __init__(self) -> None:
        self._deal = -1

    def __call__(self, after: str, _made: int) -> list[Wager]:
        """Bet Ante, Pair Plus and the side bet when bets open, and Play when they close."""
        if after == "bets.opened":
            self._deal += 1
        if self._deal == len(DEALS) or after not in ("bets.opened", "bets.closed"):
            return []
        hands = DEALS[self._deal].hands
        stakes = {"play": ANTE} if after == "bets.closed" else BEFORE_THE_CARDS
        seats = [seat for seat in SEATS if after == "bets.opened" or not hands[seat].folds]
        return [
            {"seat": seat, "wager": wager, "amount": cents}
            for seat in seats
            for wager, cents in stakes.items()
        ]

    def again(self, session: MoneySession) -> None:
        """Bet on the void deal again."""
        self._deal -= 1
        session.bet("bets.opened")
