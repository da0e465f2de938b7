"""Simulated sessions at a High Roller table, with their ground truth.

People draw for the button, buy cards, roll, tie, decline rolls and leave, and supervisors void games. The
ground truth follows from the rules document, independently of the controller's rules. Each of its entries is
an outcome that must be published, with the keys of its data that must match.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

import msgspec

from controller.model.geometry import DiceTable
from controller.model.readings import AnyReading, Card, Input
from drivers.sim import dice
from drivers.sim.scenes import Expected, Feed, Header, Scene, Truth, in_order_of_arrival, without_numbers

RULES = "high-roller-12-005"
SECOND_US = 1_000_000

THROWS: Mapping[str, float] = {
    "valid": 30.0,
    **dict.fromkeys(
        (
            "one_short",
            "off_table",
            "bumped",
            "double_hit",
            "unsure_face",
            "no_face",
            "camera_down_ruled",
            "box_no_roll_in_flight",
            "box_no_roll_in_hold",
            "box_no_roll_late",
            "box_sets_other_dice",
        ),
        1.0,
    ),
}
"""Weights by kind of throw; most throws are valid."""
_LETTERS = {10: "T", 11: "J", 12: "Q"}


@dataclass(slots=True)
class Game:
    """A game with its cards, its rolls and its remaining players."""

    number: int
    order: list[int]
    """Seats clockwise from the button."""
    cards: dict[int, list[int]] = field(default_factory=dict)
    turns: list[int] = field(default_factory=list)
    """Seats with rolls left in the roll-off, in order; empty during the elimination."""
    rolled: list[tuple[int, int]] = field(default_factory=list)
    """Seat and total of each roll in the roll-off."""
    winner: int | None = None
    total: int = 0

    @property
    def roller(self) -> int:
        """Seat that rolls next."""
        return self.turns[0] if self.turns else self.order[0]

    @property
    def gross(self) -> int:
        """Money paid in (cents), at a dollar a card."""
        return 100 * sum(map(len, self.cards.values()))

    def copy(self) -> "Game":
        """Return a copy that a correction can restore."""
        return Game(self.number, self.order, self.cards, [*self.turns], [*self.rolled])

    def throw(self, total: int) -> tuple[str, list[int]]:
        """Play a roll; return its call and the eliminated seats."""
        if self.turns:
            player = self.turns.pop(0)
            self.rolled.append((player, total))
            return self.rolls_done()
        matching = {seat: self.cards[seat].count(total) for seat in self.order if self.cards.get(seat)}
        stay = [seat for seat in matching if matching[seat]]
        if not stay:
            return "no_match", []
        out = [seat for seat in matching if not matching[seat]]
        if len(stay) == 1:
            self.winner, self.total = stay[0], total
            return "elimination", out
        for count in sorted(set(matching.values()), reverse=True):
            self.turns += [seat for seat in stay if matching[seat] == count for _ in range(count)]
        return "elimination", out

    def rolls_done(self) -> tuple[str, list[int]]:
        """End the roll-off if no rolls are left; if players tie, each of them rolls once more.

        Return the call and the eliminated seats.
        """
        if self.turns:
            return "roll_off", []
        highest = max(total for _, total in self.rolled)
        players = list(dict.fromkeys(player for player, _ in self.rolled))
        best = [player for player in players if (player, highest) in self.rolled]
        if len(best) == 1:
            self.winner, self.total = best[0], highest
            return "roll_off", []
        self.turns, self.rolled = best, []
        return "tie", [seat for seat in self.order if seat in players and seat not in best]

    def may_decline(self) -> bool:
        """Return whether the roller is allowed to decline this roll.

        A player may decline a roll if the player has another roll left or has already rolled.
        """
        if not self.turns:
            return False
        player = self.turns[0]
        return self.turns.count(player) > 1 or player in [seat for seat, _ in self.rolled]


class Simulation:
    """One session at one table."""

    def __init__(
        self, seed: int, *, table: DiceTable = dice.TABLE, directed: bool = True, pot_known: bool = True
    ) -> None:
        """Begin a session; with `directed`, the shoe usually reports a card's recipient."""
        self.rng = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
        self.table = table
        self.directed = directed
        self.pot_known = pot_known
        """Whether the controller knows the Bonus Pot and the streak of wins."""
        self.now = SECOND_US
        self.feed: Feed = []
        self.truth: list[Expected] = []
        self.rolls = 0
        self.seats = sorted(self.rng.sample(range(1, 9), self.rng.randint(3, 6)))
        self.button = 0
        self.pot = 0
        self.streak: tuple[int, int] = (0, 0)
        """The last winner's seat and number of consecutive wins."""
        self.final = False
        self.left_seats: set[int] = set()
        self.thrown: list[Scene] = []
        self.out: dict[str, list[str]] = {}
        """Cards dealt from the shoe in the current game, by seat."""

    # --- people and the shoe ---

    def enter(self, name: str, by: str = "dealer", **arguments: object) -> None:
        """Add a person's input after a pause."""
        self.now += self.rng.randint(SECOND_US // 2, 3 * SECOND_US)
        self._post(Input(t=self.now, dev="console", name=name, by=by, **arguments))  # type: ignore[arg-type]  # any

    def pitch(self, rank: int, seat: int) -> None:
        """Deal a card; the dealer enters a card that the shoe cannot read."""
        self.now += self.rng.randint(350_000, 900_000)
        knows, read = self.rng.random() < 0.7, self.rng.random() > 0.03
        shown = _LETTERS.get(rank, str(rank)) if read else None
        suit = self.rng.choice("cdhs") if read else None
        self.out.setdefault(str(seat), []).append(str(rank))
        to = seat if knows and self.directed else None
        self._post(Card(t=self.now, dev="shoe", rank=shown, suit=suit, to=to))  # type: ignore[arg-type]  # a suit
        if not read:
            self.enter("set_card", seat=seat, card=str(rank))

    def _post(self, reading: AnyReading) -> None:
        self.feed.append((reading.t + self.rng.randint(200, 3000), reading))

    def expect(self, kind: str, **data: object) -> None:
        """Add an outcome that must be published."""
        self.truth.append({"type": kind, "data": data})

    # --- the parts of a session ---

    def draw_button(self) -> None:
        """Draw cards for the button until one seat has the highest card."""
        drawing = self.seats
        while len(drawing) > 1:
            drawn = {seat: self.rng.randint(2, 12) for seat in drawing}
            for seat, rank in drawn.items():
                self.enter("draw_button", seat=seat, card=_LETTERS.get(rank, str(rank)))
            drawing = [seat for seat in drawing if drawn[seat] == max(drawn.values())]
        self.button = drawing[0]

    def buy(self, game: Game) -> None:
        """Sell a game's cards: first to the button, then clockwise, then to players who buy more."""
        counts = {seat: self.rng.choice((0, 1, 2, 3, 5, 8)) for seat in game.order}
        for seat in self.rng.sample(game.order, 2):
            counts[seat] = max(counts[seat], self.rng.randint(1, 4))
        for seat in game.order:
            if counts[seat] or seat == self.button or self.rng.random() < 0.3:
                self.enter("buy", "player", seat=seat, count=counts[seat])
            for _ in range(counts[seat]):
                self._sell(game, seat)
        holders = [seat for seat in game.order if game.cards.get(seat)]
        rebuyers = self.rng.choices(holders, k=self.rng.randint(0, 4))
        if rebuyers and rebuyers[0] != self.button:
            self.enter("buy", seat=self.button, count=0)
        for seat in rebuyers:
            self.enter("buy", seat=seat)
            self._sell(game, seat)

    def _sell(self, game: Game, seat: int) -> None:
        rank = self.rng.randint(2, 12)
        self.pitch(rank, seat)
        game.cards.setdefault(seat, []).append(rank)

    def throw(self, game: Game) -> Game:
        """Throw once and make any rulings; return the game after the throw."""
        kind = self.rng.choices(list(THROWS), list(THROWS.values()))[0]
        scene, seen = dice.throw(kind, self.rng, self.now + 2 * SECOND_US, table=self.table)
        self.feed += [(arrived, _as_dealer(reading)) for arrived, reading in seen]
        self.thrown.append(scene)
        self.now = scene.end_us + self.rng.randint(500_000, 2_000_000)
        self.rolls += 1
        before, pot, streak = game.copy(), self.pot, self.streak
        truth, roller = scene.truth, game.roller
        if truth.verdict == "review":
            self.expect("roll.review", roll=self.rolls)
        called = truth.ruled_dice if truth.verdict == "review" else truth.dice
        if truth.verdict == "void" or called is None:
            self.expect("roll.no_roll", roll=self.rolls)
            return game
        self._call("roll.called", game, called, player=roller)
        if truth.ruled == "corrected":
            game, self.pot, self.streak = before, pot, streak
            if truth.ruled_dice is None:
                self.expect(
                    "roll.corrected", roll=self.rolls, ruling="no_roll", dice=None, next_player=roller
                )
            else:
                self._call("roll.corrected", game, truth.ruled_dice)
        return game

    def _call(self, kind: str, game: Game, faces: tuple[int, int], **more: object) -> None:
        call, out = game.throw(sum(faces))
        next_roller = None if game.winner is not None else game.roller
        self.expect(
            kind, roll=self.rolls, dice=list(faces), total=sum(faces), call=call,
            game=game.number, next_player=next_roller, **more,
        )  # fmt: skip
        if out:
            self.expect("player.eliminated", game=game.number, players=out)
        self._report_if_won(game)

    def _report_if_won(self, game: Game) -> None:
        if game.winner is None:
            return
        gross = game.gross
        rake = gross // 10
        bonus = min(200, gross - rake)
        self.pot += bonus
        self.streak = (game.winner, self.streak[1] + 1 if game.winner == self.streak[0] else 1)
        paid = self.pot if self.streak[1] == 3 or self.final else 0
        pot = {"gross": gross, "rake": rake, "bonus": bonus, "prize": gross - rake - bonus}
        known = {"bonus_paid": paid} if self.pot_known else {}
        self.expect("game.won", game=game.number, player=game.winner, total=game.total, pot=pot, **known)
        if paid and self.pot_known:
            cause = "in_a_row" if self.streak[1] == 3 else "final_game"
            self.expect("bonus.paid", player=game.winner, amount=paid, cause=cause)
        if paid:
            self.pot, self.streak = 0, (0, 0)

    def play(self, number: int, *, final: bool) -> None:
        """Play one game from the buy-in to its end."""
        start = self.seats.index(self.button)
        game = Game(number, [*self.seats[start:], *self.seats[:start]])
        self.buy(game)
        self.final = final
        if self.rng.random() < 0.8:
            self.enter("start_roll")
        void = not final and self.rng.random() < 0.06
        self.expect(
            "game.started", game=number, button=self.button, final=final,
            cards={str(seat): cards for seat, cards in game.cards.items()},
        )  # fmt: skip
        while game.winner is None:
            game = self.throw(game)
            if game.winner is None and void:
                self.enter("void", "supervisor", what="game", reason="a spilled drink")
                self.expect("game.void", game=number)
                self._after_game(moved=False)
                return
            self._between_rolls(game)
        if self.rng.random() < 0.7:
            self.enter("settled")
        self._after_game(moved=True)

    # --- at a table with sensors ---

    def clear_up(self) -> None:
        """Enter every input that a device fault might have made necessary.

        The table refuses those that are not needed.
        """
        self.enter("unlock", "supervisor", reason="the table was inspected")
        self.enter("settled")
        self.enter("no_roll")
        self.enter("void", "supervisor", what="game", reason="a device was out of order")
        self.reopen_game()

    def play_single_roll(self, mix: Mapping[str, float], stage: str) -> Scene:
        """Play one roll of a kind drawn from `mix`.

        Begin a game first if `stage`, the stage of the table's game, shows that none is in progress.
        """
        if stage == "won":
            self.reopen_game()
        if stage in ("button_draw", "won"):
            self.draw_button()
            start = self.seats.index(self.button)
            for seat in (*self.seats[start:], *self.seats[:start]):
                count = self.rng.randint(1, 3)
                self.enter("buy", "player", seat=seat, count=count)
                for _ in range(count):
                    self.pitch(self.rng.randint(2, 12), seat)
            self.enter("start_roll")
        (kind,) = self.rng.choices(list(mix), list(mix.values()))
        scene, seen = dice.throw(kind, self.rng, self.now + 2 * SECOND_US, table=self.table)
        self.feed += [(arrived, _as_dealer(reading)) for arrived, reading in seen]
        return scene

    def reopen_game(self) -> None:
        """Close and reopen the table, after which no player has cards or the button."""
        self.enter("close_table", "supervisor")
        self.enter("open_table", "supervisor")

    def scene(self, number: int, *, final: bool, start_us: int) -> Scene:
        """Play one game; return its scene with the outcomes that must be published."""
        before, self.thrown, self.out = len(self.truth), [], {}
        if final:
            self.enter("closing")
        self.play(number, final=final)
        self.now += SECOND_US
        return Scene(
            kind="final_game" if final else "game",
            start_us=start_us,
            end_us=self.now,
            truth=Truth(
                verdict="valid",
                allowed=("valid",),
                cards={seat: tuple(cards) for seat, cards in self.out.items()},
                told=without_numbers(self.truth[before:]),
            ),
            throws=tuple(self.thrown),
            depends_on_previous=True,
        )

    def _between_rolls(self, game: Game) -> None:
        while game.winner is None and game.may_decline() and self.rng.random() < 0.15:
            seat = game.turns.pop(0)
            self.enter("decline", "player", seat=seat)
            self.expect("roll.declined", game=game.number, player=seat)
            _, out = game.rolls_done()
            if out:
                self.expect("player.eliminated", game=game.number, players=out)
            self._report_if_won(game)
        staying = [seat for seat in self.seats if seat not in self.left_seats]
        if game.winner is None and len(staying) > 3 and self.rng.random() < 0.03:
            leaver = self.rng.choice(staying)
            self.enter("leave", "player", seat=leaver)
            self.left_seats.add(leaver)

    def _after_game(self, *, moved: bool) -> None:
        start = self.seats.index(self.button) + moved
        order = [*self.seats[start:], *self.seats[:start]]
        self.button = next(seat for seat in order if seat not in self.left_seats)
        self.seats = [seat for seat in self.seats if seat not in self.left_seats]
        self.left_seats.clear()


def simulate(seed: int, games: int = 6) -> tuple[Header, Feed, list[Expected]]:
    """Play `games` games, the last of which is the final game; the same seed produces the same session."""
    table = Simulation(seed)
    table.draw_button()
    for number in range(1, games + 1):
        final = number == games
        if final:
            table.enter("closing")
        table.play(number, final=final)
    header = Header(table=f"sim-high-roller-{seed}", ruleset=RULES, dice_table=dice.TABLE)
    return header, in_order_of_arrival(table.feed), table.truth


def play_session(
    seed: int, games: int, *, table: DiceTable, after_fault: bool = False
) -> tuple[Feed, list[Scene]]:
    """Play from the draw for the button to the final game, then close and reopen the table.

    After a device fault, people clear up first, and the Bonus Pot is unknown.
    """
    simulation = Simulation(seed, table=table, directed=False, pot_known=not after_fault)
    scenes: list[Scene] = []
    if after_fault:
        simulation.clear_up()
        cleared = Truth(verdict="void", allowed=("void",), ruled="void")
        scenes.append(Scene(kind="clearing_up", start_us=0, end_us=simulation.now, truth=cleared))
    start_us = simulation.now
    simulation.draw_button()
    for number in range(1, games + 1):
        scenes.append(simulation.scene(number, final=number == games, start_us=start_us))
        start_us = simulation.now
    simulation.reopen_game()
    return in_order_of_arrival(simulation.feed), scenes


def _as_dealer(reading: AnyReading) -> AnyReading:
    """Return a craps table's reading; if it is an input, make the dealer its source.

    The dealer runs this game alone (H-EQ-2).
    """
    if isinstance(reading, Input):
        return msgspec.structs.replace(reading, by="dealer")
    return reading
