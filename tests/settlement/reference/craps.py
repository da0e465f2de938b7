"""Both craps documents, computed from their text: bets as rows of a list, odds as fractions.

The module uses no pay table, type or function of the controller.
"""

from dataclasses import dataclass, field
from fractions import Fraction

from tests.settlement.reference.lines import Line, Reduced, Refused, Rejected, Request, Settled

BOX = (4, 5, 6, 8, 9, 10)
LINE = ("pass", "dont_pass")
COMES = ("come", "dont_come")
DONTS = ("dont_pass", "dont_come")
BEHIND = {
    "pass_odds": "pass",
    "dont_pass_odds": "dont_pass",
    "come_odds": "come",
    "dont_come_odds": "dont_come",
}
LAID = ("dont_pass_odds", "dont_come_odds")
UNITS = {"c_and_e": 2, "horn": 4, "horn_high": 5, "whirl": 5}
BUY_FROM_TABLE = ("buy", "lay", "put")


def _by_number(four: Fraction, five: Fraction, six: Fraction) -> dict[int, Fraction]:
    return {4: four, 10: four, 5: five, 9: five, 6: six, 8: six}


@dataclass(frozen=True)
class Document:
    """The points on which the two documents differ."""

    minimum: int
    maximum: int | None
    taken: dict[int, Fraction]
    laid: dict[int, Fraction]
    place: dict[int, Fraction]
    wagers: frozenset[str]
    version_1: bool


_BOTH = {
    *LINE,
    *COMES,
    *BEHIND,
    "place",
    "hard",
    "field",
    "any7",
    "any_craps",
    "craps2",
    "craps3",
    "craps12",
    "yo",
    "c_and_e",
    "horn",
    "whirl",
}
C34 = Document(
    minimum=1,
    maximum=None,
    taken=_by_number(Fraction(2), Fraction(3, 2), Fraction(1)),
    laid=_by_number(Fraction(1, 2), Fraction(3, 4), Fraction(3, 4)),
    place=_by_number(Fraction(7, 4), Fraction(5, 4), Fraction(1)),
    wagers=frozenset(_BOTH | {"horn_high"}),
    version_1=False,
)
CV1 = Document(
    minimum=100,
    maximum=1000,
    taken=_by_number(Fraction(2), Fraction(3, 2), Fraction(6, 5)),
    laid=_by_number(Fraction(1, 2), Fraction(2, 3), Fraction(5, 6)),
    place=_by_number(Fraction(9, 5), Fraction(7, 5), Fraction(7, 6)),
    wagers=frozenset(_BOTH | {"place_lose", "big6", "big8", "hi_lo", "hop", "sharp_shooter"}),
    version_1=True,
)
PLACE_LOSE = _by_number(Fraction(5, 11), Fraction(5, 8), Fraction(4, 5))
SHARP = {3: 5, 4: 8, 5: 20, 6: 30, 7: 40, 8: 100, 9: 200}
SINGLES = {"craps2": (2, 30), "craps3": (3, 15), "yo": (11, 15), "craps12": (12, 30)}
NAMED = {
    "any7": {7: 4},
    "any_craps": {2: 7, 3: 7, 12: 7},
    "hi_lo": {2: 15, 12: 15},
    "field": {2: 2, 3: 1, 4: 1, 9: 1, 10: 1, 11: 1, 12: 2},
}
ONE_ROLL = {*SINGLES, *NAMED, *UNITS, "hop"}


@dataclass
class Bet:
    """A bet on the layout; amounts in cents."""

    id: str
    player: str
    wager: str
    stake: int
    number: int | None
    base: str | None
    faces: tuple[int, int] | None
    ride: bool
    original: int
    call: bool | None = None
    lasting: bool = False


@dataclass
class Lowered:
    """A lowered Don't bet whose decision is still open (C34-MK-4); `number` is None until it has one."""

    player: str
    wager: str
    number: int | None


@dataclass
class Craps:
    """One table under one document."""

    paper: Document
    up: list[Bet] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    point: int | None = None
    shooter: str | None = None
    rolled: bool = False
    made: int = 0
    in_run_out: bool = False
    lowered: list[Lowered] = field(default_factory=list)
    this_roll: set[tuple[str, str]] = field(default_factory=set)
    """Bets (player, kind) made or taken down since the last roll; one may be made per roll (CV1-COME-1)."""
    back_this_roll: set[tuple[str, str]] = field(default_factory=set)
    """Bets (player, kind) taken down since the last roll; a new bet must wait (CV1-DC-8)."""

    def take(self, ask: Request) -> list[Line]:
        act = {
            "bet": self._bet,
            "increase": self._increase,
            "reduce": self._reduce,
            "remove": self._remove,
            "working": self._working,
            "no_action": self._no_action,
            "roll": self._roll,
            "no_roll": lambda _: [],
            "new_shooter": self._new_shooter,
            "run_out": self._run_out,
        }[str(ask["do"])]
        return act(ask)

    def end(self) -> list[Line]:
        """Return the bets that are left."""
        return [Settled(bet.id, bet.wager, "pending", bet.stake, 0, 0) for bet in self.up]

    # Bets

    def _bet(self, ask: Request) -> list[Line]:
        wager, player, amount = str(ask["wager"]), str(ask["player"]), ask["amount"]
        assert isinstance(amount, int)
        number = ask.get("number")
        dice = ask.get("dice")
        faces = tuple(sorted(dice)) if isinstance(dice, list) else None
        bet = Bet(
            id=str(ask["id"]),
            player=player,
            wager=wager,
            stake=amount,
            ride=bool(ask.get("ride")),
            original=amount,
            number=number if isinstance(number, int) else None,
            base=str(ask["base"]) if "base" in ask else None,
            faces=faces,
            call=ask["working"] == "on" if "working" in ask else None,
        )
        wrong = self._objections(bet, late=bool(ask.get("late")), confirmed=bool(ask.get("confirmed")))
        if wrong:
            return [Rejected(bet.id, wager, frozenset(wrong))]
        self.names.add(bet.id)
        self.this_roll.add((bet.player, wager))
        self.up.append(bet)
        return []

    def _objections(self, bet: Bet, late: bool, confirmed: bool) -> set[str]:
        v1, wrong = self.paper.version_1, set[str]()
        if bet.id in self.names:
            wrong |= {"BOOK-ID"}
        if bet.stake <= 0:
            wrong |= {"BOOK-AMOUNT"}
        if bet.wager not in self.paper.wagers:
            if v1:
                return wrong | {"CV1-BUY-1" if bet.wager in BUY_FROM_TABLE else "CV1-LIM-3"}
            return wrong | {"!34-8" if bet.wager == "buy" else "!X-4"}
        wrong |= self._where(bet)
        if not wrong & {"N"}:
            wrong |= self._size(bet, bet.stake, None)
        wrong -= {"N"}
        if late and (v1 or not confirmed):
            wrong |= {"CV1-BET-2", "!V1-29"} if v1 else {"C34-MK-1a", "C34-MK-1b"}
        wrong |= self._when(bet)
        if bet.call is False and not self._may_be_off(bet.wager):
            wrong |= self._always_on(bet.wager)
        if bet.ride and not v1:
            wrong |= {"C34-FIELD-1"}
        return wrong

    def _where(self, bet: Bet) -> set[str]:
        """Return the rules that forbid a bet's number, or the flat bet behind which it is placed."""
        v1 = self.paper.version_1
        if bet.wager in ("place", "place_lose") and bet.number not in BOX:
            return {"CV1-PLACE-1", "CV1-PLACE-2", "CV1-PL-1", "N"} if v1 else {"C34-PLACE-1", "N"}
        if bet.wager == "hard" and bet.number not in (4, 6, 8, 10):
            return {"CV1-TAB-1", "N"} if v1 else {"C34-HARD-4", "N"}
        if bet.wager == "horn_high" and bet.number not in (2, 3, 11, 12):
            return {"C34-HH-1", "C34-HH-2", "N"}
        if bet.wager in BEHIND:
            flat = self._find(bet.base)
            wanted = (BEHIND[bet.wager], bet.player)
            if flat is None or (flat.wager, flat.player) != wanted or flat.number is None:
                return {*self._odds_rules(bet.wager), "BOOK-ID", "N"}
        return set()

    def _odds_rules(self, wager: str) -> set[str]:
        if self.paper.version_1:
            return {
                "pass_odds": {"CV1-PO-1", "CV1-PO-2"},
                "dont_pass_odds": {"CV1-DPO-1", "CV1-DP-9"},
                "come_odds": {"CV1-COME-7", "CV1-COME-5"},
                "dont_come_odds": {"CV1-DC-5", "CV1-DC-8"},
            }[wager]
        return {
            "pass_odds": {"C34-ODDS-1"},
            "dont_pass_odds": {"C34-ODDS-2"},
            "come_odds": {"C34-ODDS-3"},
            "dont_come_odds": {"C34-ODDS-4"},
        }[wager]

    def _spot(self, bet: Bet) -> tuple[object, ...]:
        return (bet.player, bet.wager, bet.number, bet.base, bet.faces)

    def _beside(self, bet: Bet, standing: Bet | None) -> int:
        spot = self._spot(bet)
        return sum(each.stake for each in self.up if each is not standing and self._spot(each) == spot)

    def _size(self, bet: Bet, stake: int, standing: Bet | None) -> set[str]:
        """Return the rules that forbid the resulting amount."""
        wrong = set[str]()
        v1 = self.paper.version_1
        beside = self._beside(bet, standing)
        flat_limits = {
            "pass": "CV1-PASS-1",
            "dont_pass": "CV1-DP-1",
            "come": "CV1-COME-1",
            "dont_come": "CV1-DC-1",
        }
        if v1 and stake < self.paper.minimum * (UNITS[bet.wager] if bet.wager in ("c_and_e", "whirl") else 1):
            wrong |= {"CV1-LIM-1"} | ({flat_limits[bet.wager]} if bet.wager in flat_limits else set())
            wrong |= {"CV1-PO-3", "CV1-DPO-3", "!V1-15"} if bet.wager in BEHIND else set()
            wrong |= {"c_and_e": {"CV1-CE-3", "!V1-21"}, "whirl": {"CV1-WHIRL-2", "!V1-21"}}.get(
                bet.wager, set()
            )
        if self.paper.maximum is not None and stake + beside > self.paper.maximum:
            wrong |= {"CV1-LIM-1"} | ({flat_limits[bet.wager]} if bet.wager in flat_limits else set())
            wrong |= {"CV1-PO-2"} if bet.wager == "pass_odds" else set()
        if bet.wager in UNITS and stake % UNITS[bet.wager]:
            wrong |= {
                "c_and_e": {"CV1-CE-3"} if v1 else {"!34-25"},
                "horn": {"!V1-21"} if v1 else {"!34-25"},
                "horn_high": {"C34-HH-2"},
                "whirl": {"CV1-WHIRL-2"} if v1 else {"C34-WHIRL-2"},
            }[bet.wager]
        if bet.wager in BEHIND and not v1:
            flat = self._find(bet.base)
            if flat is not None and flat.number is not None:
                behind = sum(each.stake for each in self.up if each.base == bet.base and each is not standing)
                cap = (
                    flat.original / self.paper.laid[flat.number]
                    if bet.wager in LAID
                    else Fraction(flat.stake)
                )
                if behind + stake > cap:
                    wrong |= {*self._odds_rules(bet.wager), "!34-22"}
        return wrong

    def _when(self, bet: Bet) -> set[str]:
        v1, wrong, wager = self.paper.version_1, set[str](), bet.wager
        again = (bet.player, wager) in self.this_roll
        if wager in LINE:
            if self.point is not None or self.in_run_out:
                wrong |= (
                    {"CV1-PASS-7" if wager == "pass" else "CV1-BET-1"}
                    if v1
                    else {"C34-PASS-1" if wager == "pass" else "C34-DP-1"}
                )
                wrong |= {"C34-CONT-2b"} if self.in_run_out else set()
            if v1 and again:
                wrong |= {"CV1-PASS-1" if wager == "pass" else "CV1-DP-1"}
        if wager in COMES:
            if self.point is None:
                wrong |= (
                    {"CV1-COME-1" if wager == "come" else "CV1-DC-1", "CV1-BET-1"}
                    if v1
                    else {
                        "C34-COME-1" if wager == "come" else "C34-DC-1",
                        "!34-1",
                        "C34-CONT-2b",
                    }
                )
            if v1 and again:
                back = (bet.player, wager) in self.back_this_roll
                wrong |= {"CV1-COME-1" if wager == "come" else "CV1-DC-8" if back else "CV1-DC-1"}
        if self._stays_low(bet):
            wrong |= {"C34-MK-4"}
        if wager == "sharp_shooter" and self.rolled:
            wrong |= {"CV1-SHARP-1"}
        return wrong

    def _stays_low(self, bet: Bet) -> bool:
        """Return whether the player lowered such a Don't bet whose decision is still open (C34-MK-4)."""
        lowered = [(held.player, held.wager) for held in self.lowered]
        return not self.paper.version_1 and (bet.player, bet.wager) in lowered

    def _may_be_off(self, wager: str) -> bool:
        if self.paper.version_1:
            return wager not in (*LINE, *COMES, "sharp_shooter")
        return wager in ("place", "hard", "come_odds")

    def _always_on(self, wager: str) -> set[str]:
        if not self.paper.version_1:
            return {"C34-MK-5b"}
        off = {"pass": "CV1-PASS-6", "dont_pass": "CV1-DP-8", "come": "CV1-COME-4", "dont_come": "CV1-DC-6"}
        return {off.get(wager, "CV1-SHARP-2")}

    # Changes

    def _find(self, name: object) -> Bet | None:
        return next((bet for bet in self.up if bet.id == name), None)

    def _change(self, ask: Request, wrong: set[str]) -> list[Line]:
        return [Refused(str(ask["do"]), frozenset(wrong), str(ask["id"]))] if wrong else []

    def _increase(self, ask: Request) -> list[Line]:
        bet, to = self._find(ask["id"]), ask["to"]
        assert isinstance(to, int)
        if bet is None:
            return self._change(ask, {"BOOK-ID"})
        wrong = set[str]()
        if to <= bet.stake:
            wrong |= {"BOOK-AMOUNT"}
        wrong |= self._size(bet, to, bet)
        if bet.wager in (*LINE, *COMES) and bet.number is not None:
            wrong |= {
                "pass": {"CV1-PASS-7", "CV1-BET-1", "C34-PASS-1"},
                "dont_pass": {"CV1-DP-6", "C34-MK-4", "C34-DP-1"},
                "come": {"CV1-COME-1", "C34-COME-1"},
                "dont_come": {"CV1-DC-6", "C34-MK-4", "C34-DC-1"},
            }[bet.wager]
        if self._stays_low(bet):
            wrong |= {"C34-MK-4"}
        if bet.wager == "sharp_shooter" and self.rolled:
            wrong |= {"CV1-SHARP-1"}
        if not wrong:
            bet.original = bet.stake = to
        return self._change(ask, wrong)

    def _lowering(self, bet: Bet) -> set[str]:
        v1 = self.paper.version_1
        if bet.wager in ("pass", "come") and (v1 or bet.number is not None):
            return {"CV1-PASS-6" if bet.wager == "pass" else "CV1-COME-4"} if v1 else {"C34-MK-3b"}
        if v1 and bet.wager == "dont_pass" and bet.player == self.shooter:
            return {"CV1-DP-7"}
        return set()

    def _reduce(self, ask: Request) -> list[Line]:
        bet, to = self._find(ask["id"]), ask["to"]
        assert isinstance(to, int)
        if bet is None:
            return self._change(ask, {"BOOK-ID"})
        wrong = self._lowering(bet)
        if not 0 < to < bet.stake:
            wrong |= {"BOOK-AMOUNT"}
        wrong |= self._size(bet, to, bet)
        if wrong:
            return self._change(ask, wrong)
        back, bet.stake = bet.stake - to, to
        self._lowered(bet)
        return [Reduced(bet.id, back)]

    def _remove(self, ask: Request) -> list[Line]:
        bet = self._find(ask["id"])
        if bet is None:
            return self._change(ask, {"BOOK-ID"})
        if wrong := self._lowering(bet):
            return self._change(ask, wrong)
        return self._take_down(bet, "removed")

    def _take_down(self, bet: Bet, status: str) -> list[Line]:
        self._lowered(bet)
        self.this_roll.add((bet.player, bet.wager))
        self.back_this_roll.add((bet.player, bet.wager))
        off = [bet, *(each for each in self.up if each.base == bet.id)]
        for each in off:
            self.up.remove(each)
        if bet.wager in COMES:
            self._nothing_left()
        names = [status, *("removed" for _ in off[1:])]
        return [
            Settled(each.id, each.wager, name, each.stake, 0, each.stake)
            for each, name in zip(off, names, strict=True)
        ]

    def _lowered(self, bet: Bet) -> None:
        if bet.wager in DONTS:
            self.lowered.append(Lowered(bet.player, bet.wager, bet.number))

    def _working(self, ask: Request) -> list[Line]:
        bet = self._find(ask["id"])
        if bet is None:
            return self._change(ask, {"BOOK-ID"})
        if ask["on"] is False and not self._may_be_off(bet.wager):
            return self._change(ask, self._always_on(bet.wager))
        bet.call = None if ask["on"] == "default" else bool(ask["on"])
        bet.lasting = bool(ask.get("stands"))
        return []

    def _no_action(self, ask: Request) -> list[Line]:
        bet = self._find(ask["id"])
        if bet is None:
            return self._change(ask, {"BOOK-ID"})
        if bet.wager != "dont_come":
            return self._change(ask, {"CV1-DC-7", "C34-MK-4"})
        return self._take_down(bet, "void")

    # Dice

    def _new_shooter(self, ask: Request) -> list[Line]:
        player = ask.get("player")
        out: list[Line] = []
        if player is not None and self.shooter == str(player):
            return out
        names_late = player is not None and self.shooter is None
        if self.rolled and not names_late:
            out = self._hand_over()
        self.in_run_out = False
        self.shooter = None if player is None else str(player)
        return out

    def _hand_over(self) -> list[Line]:
        out: list[Line] = []
        for bet in [each for each in self.up if each.wager == "sharp_shooter"]:
            odds = 300 if self.made >= 10 else SHARP.get(self.made)
            out.append(self._decide(bet, None if odds is None else Fraction(odds)))
        self.rolled, self.made, self.shooter = False, 0, None
        return out

    def _run_out(self, ask: Request) -> list[Line]:
        if not ask["on"]:
            self.in_run_out = False
            return []
        if self.paper.version_1:
            return [Refused("run_out", frozenset({"CV1-SHOOT-1"}))]
        comes = any(bet.wager in COMES for bet in self.up)
        if (
            self.point is not None
            or any(bet.wager in LINE for bet in self.up)
            or not (comes or ask.get("by_table"))
        ):
            return [Refused("run_out", frozenset({"C34-CONT-2b", "!34-17", "!34-16"}))]
        self.in_run_out = True
        return []

    def _nothing_left(self) -> None:
        if not any(bet.wager in COMES for bet in self.up):
            self.in_run_out = False

    def _decide(self, bet: Bet, odds: Fraction | None, status: str | None = None) -> Settled:
        """Take a bet off the layout: lost without odds, won with them, or returned under another status."""
        self.up.remove(bet)
        if status is not None:
            return Settled(bet.id, bet.wager, status, bet.stake, 0, bet.stake)
        if odds is None:
            return Settled(bet.id, bet.wager, "lose", bet.stake, 0, 0)
        won = int(bet.stake * odds)
        return Settled(bet.id, bet.wager, "win", bet.stake, won, bet.stake + won)

    def _on(self, bet: Bet) -> bool:
        if bet.call is not None and self._may_be_off(bet.wager):
            return bet.call
        asleep = ("place", "place_lose", "hard", "come_odds")
        return not (self.point is None and bet.wager in asleep)

    def _roll(self, ask: Request) -> list[Line]:
        dice = ask["dice"]
        assert isinstance(dice, list)
        one, two = sorted(dice)
        total = one + two
        self.rolled = True
        out: list[Line] = []
        for bet in list(self.up):
            if bet in self.up:
                out += self._meet(bet, one, two, total)
        self._pass_time(total)
        out += self._move_point(total)
        self.this_roll.clear()
        self.back_this_roll.clear()
        self._nothing_left()
        return out

    def _pass_time(self, total: int) -> None:
        """Drop the lowered Don't bets that this roll would have decided."""
        kept: list[Lowered] = []
        for held in self.lowered:
            if held.number is None:
                if total in BOX:
                    kept.append(Lowered(held.player, held.wager, total))
            elif total not in (held.number, 7):
                kept.append(held)
        self.lowered = kept

    def _move_point(self, total: int) -> list[Line]:
        if self.in_run_out:
            return []
        if self.point is None:
            if total in BOX:
                self.point = total
                if self.paper.version_1:
                    for bet in self.up:
                        if (bet.wager in BEHIND or bet.wager in ("place", "place_lose")) and not bet.lasting:
                            bet.call = None
            return []
        if total == self.point:
            self.point = None
            self.made += 1
            return []
        if total == 7:
            self.point = None
            return self._hand_over()
        return []

    def _meet(self, bet: Bet, one: int, two: int, total: int) -> list[Line]:
        if bet.wager in (*LINE, *COMES):
            return self._meet_flat(bet, total)
        if bet.wager in BEHIND or bet.wager == "sharp_shooter" or not self._on(bet):
            return []
        if bet.wager in ("place", "place_lose", "hard", "big6", "big8"):
            return self._meet_number(bet, one, two, total)
        odds = self._one_roll_odds(bet, one, two, total)
        if odds == 0:
            return [self._decide(bet, None, "push")]
        if odds is not None and bet.ride and bet.wager == "field":
            return [self._let_ride(bet, odds)]
        return [self._decide(bet, odds)]

    def _let_ride(self, bet: Bet, odds: Fraction) -> Settled:
        stake, won = bet.stake, int(bet.stake * odds)
        most = self.paper.maximum
        assert most is not None
        beside = self._beside(bet, bet)
        bet.stake = min(most - beside, stake + won)
        return Settled(bet.id, bet.wager, "win", stake, won, stake + won - bet.stake)

    def _meet_flat(self, bet: Bet, total: int) -> list[Line]:
        dont = bet.wager in DONTS
        if bet.number is None:
            if self.in_run_out and bet.wager in LINE:
                return []
            if total in BOX:
                bet.number = total
                return []
            if total == 12 and dont:
                return [self._decide(bet, None, "push")]
            shooter_wins = total in (7, 11)
            return [self._decide(bet, Fraction(1) if shooter_wins != dont else None)]
        if total not in (bet.number, 7):
            return []
        shooter_wins = total == bet.number
        out: list[Line] = [self._decide(bet, Fraction(1) if shooter_wins != dont else None)]
        for odds in [each for each in self.up if each.base == bet.id]:
            if not self._on(odds):
                out.append(self._decide(odds, None, "push"))
                continue
            ratio = (self.paper.laid if dont else self.paper.taken)[bet.number]
            out.append(self._decide(odds, ratio if shooter_wins != dont else None))
        return out

    def _meet_number(self, bet: Bet, one: int, two: int, total: int) -> list[Line]:
        number = {"big6": 6, "big8": 8}.get(bet.wager, bet.number)
        assert number is not None
        if total not in (number, 7):
            return []
        if bet.wager == "place_lose":
            return [self._decide(bet, PLACE_LOSE[number] if total == 7 else None)]
        if total == 7 or (bet.wager == "hard" and one != two):
            return [self._decide(bet, None)]
        if bet.wager == "hard":
            return [self._decide(bet, Fraction(7 if number in (4, 10) else 9))]
        if bet.wager == "place":
            if self.paper.version_1:
                won = int(bet.stake * self.paper.place[number])
                return [Settled(bet.id, bet.wager, "win", bet.stake, won, won)]
            return [self._decide(bet, self.paper.place[number])]
        return [self._decide(bet, Fraction(1))]

    def _one_roll_odds(self, bet: Bet, one: int, two: int, total: int) -> Fraction | None:
        """Return the odds to one on the whole stake, 0 if it is returned, None if it loses."""
        if bet.wager == "hop":
            return Fraction(30 if one == two else 15) if bet.faces == (one, two) else None
        if bet.wager in SINGLES:
            number, odds = SINGLES[bet.wager]
            return Fraction(odds) if total == number else None
        if bet.wager in NAMED:
            return Fraction(NAMED[bet.wager][total]) if total in NAMED[bet.wager] else None
        parts = {number: [odds, 1] for number, odds in SINGLES.values()}
        if bet.wager == "c_and_e":
            parts = {2: [7, 1], 3: [7, 1], 12: [7, 1], 11: [15, 1]}
        if bet.wager == "horn_high":
            assert bet.number is not None
            parts[bet.number][1] = 2
        if bet.wager == "whirl":
            parts[7] = [4, 1]
        if total not in parts:
            return None
        odds, units = parts[total]
        return Fraction(odds * units - (UNITS[bet.wager] - units), UNITS[bet.wager])
