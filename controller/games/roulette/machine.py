"""The state machine of roulette, with the betting rounds and the colours of the players' chips."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import UNSET, UnsetType

from controller.games.roulette.spins import Spins, late_close_notice
from controller.games.roulette.wheel_spins import SmartSpins, WheelSpins
from controller.machines.agenda import Agenda
from controller.machines.attempts import Attempts
from controller.machines.flat import Arrow, FlatMachine, InputRefused, MachineTable
from controller.machines.game import PlaysAttempts
from controller.machines.health import Health
from controller.machines.lifecycle import Result, StandingCall
from controller.model.geometry import Wheel
from controller.model.outcomes import (
    Bets,
    Data,
    SpinCalled,
    SpinCorrected,
    SpinNoSpin,
    SpinReview,
)
from controller.model.pockets import colour_of
from controller.model.readings import (
    AnyReading,
    BallBeam,
    BallOut,
    ForeignObject,
    Input,
    PocketBall,
    Reading,
    WheelStatus,
    kind_of,
)
from controller.model.rulesets import Calls, SpinRules
from controller.model.verdicts import Notice, SpinVerdict
from controller.rules.wheel import Learned
from controller.rules.wheel.smart_wheel_game import WheelGameState


class ChipColours:
    """The colours of the players' chips, by seat. The dealer sells stacks of chips and takes them back."""

    def __init__(self, value_colours: Iterable[str], sold: Mapping[str, str]) -> None:
        """Start with the colours already sold. The colours of the house's value chips can't be sold."""
        self._value_colours = frozenset(colour.casefold() for colour in value_colours)
        self.by_seat: dict[str, str] = dict(sold)

    def enter(self, entered: Input) -> None:
        """Sell a seat the colour in `what` or, without a colour, take the seat's chips back.

        Raise InputRefused if the colour is taken, or if the seat is missing or has no chips to take back.
        """
        seat = "" if entered.seat is None else str(entered.seat)
        if not seat:
            raise InputRefused(
                "bad_argument", "chips needs the seat that buys or returns chips; enter it again"
            )
        colour = (entered.what or "").strip().casefold()
        if not colour:
            if self.by_seat.pop(seat, None) is None:
                raise InputRefused("bad_argument", f"seat {seat} has no chips; enter a colour to sell some")
            return
        if colour in self._value_colours:
            raise InputRefused(
                "colour_taken", f"{colour} is used for value chips (R-PLACE-2); choose another colour"
            )
        holder = next(
            (other for other, sold in self.by_seat.items() if sold == colour and other != seat), None
        )
        if holder is not None:
            raise InputRefused(
                "colour_taken",
                f"seat {holder} has {colour} (R-PLACE-2); choose another colour, or take its chips back",
            )
        self.by_seat[seat] = colour


ROULETTE_TABLE = MachineTable(
    name="roulette",
    initial="betting",
    states={
        "betting": "bets are placed; the ball is not in the track",
        "in_track": "the ball is running and bets are still accepted",
        "no_more_bets": "the ball is running and bets are closed",
        "dropped": "the ball has left the track and is falling into a pocket",
        "settled": "the number is called; losing bets are collected, then winners are paid",
    },
    triggers={
        "launch": "the ball is launched",
        "no_more_bets": "the dealer calls No More Bets, or the ball is about to drop",
        "drop": "the ball leaves the track",
        "number": "the number is called",
        "no_spin": "the spin does not count",
        "paid": "the dealer has paid all winners",
    },
    arrows=(
        Arrow("launch", ("betting", "settled"), "in_track"),
        Arrow("no_more_bets", ("in_track",), "no_more_bets"),
        Arrow("drop", ("in_track", "no_more_bets"), "dropped"),
        Arrow("number", ("betting", "in_track", "no_more_bets", "dropped", "settled"), "settled"),
        Arrow("no_spin", ("in_track", "no_more_bets", "dropped", "settled"), "betting"),
        Arrow("paid", ("settled",), "betting"),
    ),
    refusals={
        ("in_track", "launch"): "under_way",
        ("no_more_bets", "launch"): "under_way",
        ("dropped", "launch"): "under_way",
        ("betting", "no_more_bets"): "not_now",
        ("no_more_bets", "no_more_bets"): "bets_closed",
        ("dropped", "no_more_bets"): "bets_closed",
        ("settled", "no_more_bets"): "not_now",
        ("betting", "drop"): "not_now",
        ("dropped", "drop"): "not_now",
        ("settled", "drop"): "not_now",
        ("betting", "no_spin"): "no_attempt",
        ("betting", "paid"): "nothing_to_settle",
        ("in_track", "paid"): "not_called_yet",
        ("no_more_bets", "paid"): "not_called_yet",
        ("dropped", "paid"): "not_called_yet",
    },
)

DECIDES = (BallOut, ForeignObject, PocketBall, WheelStatus)
"""Readings of which a single one can change a spin's result, unlike a ball's pulse or an index pass."""


class Roulette(PlaysAttempts):
    """The roulette game of one table."""

    def __init__(
        self,
        rules: SpinRules,
        wheel: Wheel,
        agenda: Agenda,
        health: Health,
        *,
        calls: Calls,
        learned: Learned,
        wheel_state: WheelGameState | None = None,
        standing_call: StandingCall | None = None,
        last_spin: int = 0,
        betting_round: int = 1,
        chips: Mapping[str, str] | None = None,
    ) -> None:
        """Start after spin `last_spin`, with betting round `betting_round` open.

        `standing_call` is the last spin if it can still be corrected. `chips` are the colours sold, by seat.
        """
        self._agenda = agenda
        self._machine = FlatMachine(ROULETTE_TABLE)
        self._chips = ChipColours(rules.value_chip_colours, chips or {})
        self._bets_open = True
        self._round = betting_round
        self._bets_by_hand = False
        self._dropped_us: int | UnsetType = UNSET
        self._stay_closed = False
        spins: type[WheelSpins] = SmartSpins if rules.revolutions == "trusted_wheel" else Spins
        self.spins = spins(
            self,
            rules,
            wheel,
            agenda,
            health,
            calls=calls,
            learned=learned,
            wheel_state=wheel_state,
            last=last_spin,
        )
        self.receive: Callable[[Reading], None] = self.spins.receive
        """Handles the next reading, in time order."""
        if standing_call is not None:
            number = standing_call.value
            self.attempts.resume(standing_call, number if isinstance(number, str) else None, self.snapshot())
            if number is not None:
                self._machine.restore("settled")

    # --- the GameMachine interface ---

    @property
    def attempts(self) -> Attempts[str, SpinVerdict]:
        """This game's attempts, which are spins."""
        return self.spins.attempts

    def memory(self) -> dict[str, object]:
        """Return the state to keep between spins, keyed by the field names of `State`."""
        return {
            "learned": self.spins.learned.figures(),
            "call": self.attempts.standing_call(),
            "chips": dict(self._chips.by_seat),
        }

    def next_numbers(self) -> dict[str, int]:
        """Return the numbers of the next spin and of the current betting round."""
        return {"spin": self.attempts.number + 1, "round": self._round}

    @property
    def wheel_state(self) -> WheelGameState | None:
        """The last report of a smart wheel; None if there has been none."""
        return self.spins.games.wheel_state

    def begins_attempt(self, reading: Reading) -> bool:
        """Handle a reading while the table is not in play, and return whether it might begin a spin."""
        return self.spins.would_launch(reading)

    def reject_attempt(self, reading: Reading) -> None:
        """Do nothing. `begins_attempt` has already passed the reading to the spins."""

    def reject_late(self, reading: Reading) -> bool:
        """Handle a delayed reading from a time when the table was not in play.

        Return whether it might begin a spin.
        """
        return self.spins.reject_late(reading)

    def late(self, reading: AnyReading) -> None:
        """Handle a reading that arrived too late to be used."""
        if isinstance(reading, DECIDES) and reading.t >= self.attempts.began_us:
            self.attempts.note_late(f"a {kind_of(reading)} from {reading.dev} arrived too late to count")
        elif isinstance(reading, BallBeam) and not self.attempts.open:
            self.spins.late_pulse_us = max(self.spins.late_pulse_us, reading.t)

    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at `t`."""
        self.spins.timer(name, t)

    def enter(self, entered: Input) -> bool:
        """Handle a person's input and return True, or return False if roulette has no such input.

        Raise InputRefused if the input is not allowed.
        """
        match entered.name:
            case "no_more_bets":
                self._dealer_closes(entered)
            case "open_bets":
                self._dealer_opens(entered)
            case "paid":
                self.attempts.require_attempt(entered)
                self._machine.fire("paid")
                if self.attempts.machine.allows("settled"):
                    self.attempts.settle()
            case "no_spin" | "void":
                if entered.what is None:
                    self.spins.begin_pending(entered.t)
                if entered.name == "void" or not self.spins.hold_no_spin(entered):
                    self.rule(entered)
            case "set_number":
                self.rule(entered)
            case "chips":
                self._chips.enter(entered)
            case _:
                return self.attempts.enter(entered)
        return True

    def allowed(self, t: int) -> Iterator[str]:
        """Yield the inputs that are allowed at `t`."""
        entered = tuple(self.attempts.allowed(t))
        yield from entered
        if "no_spin" not in entered and self._bets_open and not self.open_attempt:
            yield "no_spin"
        if self._bets_open:
            yield "no_more_bets"
        elif not self.open_attempt:
            yield "open_bets"
        if self._machine.allows("paid"):
            yield "paid"
        yield "chips"

    def rule(self, entered: Input) -> None:
        """Handle a ruling on the current or the last spin.

        Raise InputRefused if it is not allowed now, names another spin, or might be for an undetected spin.
        """
        self.spins.require_last_spin(entered, new_round=self._bets_by_hand)
        self.attempts.enter(entered)

    def reset(self, t: int) -> None:
        """When the table opens, settle the last spin, forget the chips sold, and open betting if closed."""
        self._machine.restore(ROULETTE_TABLE.initial)
        self._chips.by_seat.clear()
        self.attempts.settle_at_opening()
        if not self._bets_open:
            self._open_bets(t, "open_table")

    # --- the WheelGame interface ---

    @property
    def bets_open(self) -> bool:
        """Whether bets can still be placed."""
        return self._bets_open

    def snapshot(self) -> object:
        """Return the state for a later `restore`: `dropped`, from which any ruling on the spin can follow."""
        return "dropped"

    def restore(self, snapshot: object) -> None:
        """Restore a state returned by `snapshot`."""
        self._machine.restore(str(snapshot))

    def began(self, t: int) -> None:
        """Handle a launch. Betting stays open until No More Bets (R-SPIN-3)."""
        del t
        self._bets_by_hand = False
        self._dropped_us = UNSET
        if not self._machine.allows("launch"):
            self._machine.restore(ROULETTE_TABLE.initial)
        self._machine.fire("launch")
        if not self._bets_open:
            self._machine.fire("no_more_bets")

    def no_more_bets(self, t: int, cause: str = "ball_speed") -> None:
        """Close betting, because the ball is about to drop (R-SPIN-3) or the spin needs a person's ruling."""
        if self._bets_open:
            self._close_bets(t, cause)

    def on_ball_drop(self, t: int) -> None:
        """Handle the ball's drop. If betting is still open, close it with a notice of the late close."""
        if self._bets_open:
            self._close_bets(t, "ball_drop", (late_close_notice(),))
        self._dropped_us = t
        if self._machine.allows("drop"):
            self._machine.fire("drop")

    def call(self, result: Result[str]) -> Data:
        """Apply the number and return the data of the call (R-SPIN-4)."""
        assert result.value is not None
        self._machine.fire("number")
        return SpinCalled(
            spin=result.number,
            number=result.value,
            colour=colour_of(result.value),
            revolutions=self.spins.revolutions,
            grade=result.grade,
            notices=result.notices,
            by=result.by,
            who=result.who,
            dropped_us=self._dropped_us,
        )

    def no_result(self, result: Result[str]) -> Data:
        """Apply a No Spin and return its data (R-IRR-1..3)."""
        self._agenda.inspections.require_after(result.reasons, game_equipment="wheel")
        self._machine.fire("no_spin")
        return SpinNoSpin(
            spin=result.number,
            reasons=result.reasons,
            by=result.by or "sensors",
            who=result.who,
            notices=result.notices,
        )

    def review(self, result: Result[str]) -> Data:
        """Return the data of a spin that needs a person's ruling."""
        return SpinReview(
            spin=result.number, reasons=result.reasons, number=result.value, notices=result.notices
        )

    def correct(self, result: Result[str], corrects: str, ruling: str, since: Sequence[Input]) -> Data:
        """Apply a ruling that replaces the call, and return its data. Betting that is closed stays closed."""
        del since
        self._stay_closed = not self._bets_open
        self._machine.fire("no_spin" if result.value is None else "number")
        return SpinCorrected(
            spin=result.number,
            corrects=corrects,
            ruling=ruling,
            by=result.by or "",
            who=result.who,
            number=result.value,
            colour=colour_of(result.value) if result.value is not None else None,
            reasons=result.reasons,
        )

    def follow_up(self, t: int) -> None:
        """Open betting again. After a No Spin, the bets stay up but may be taken back (!R-7).

        After a correction, betting stays closed if the dealer has closed it for the next spin (R-SPIN-3).
        """
        if self._stay_closed:
            self._stay_closed = False
            return
        self._bets_by_hand = False
        if not self._bets_open:
            self._open_bets(t, "result")

    # --- the bets ---

    def _close_bets(self, t: int, cause: str, notices: tuple[Notice, ...] = ()) -> None:
        self._bets_open = False
        self._agenda.stop_timer("no_more_bets")
        self._agenda.set_lamp(t, "no_more_bets", "on")
        notices = (*notices, *self._agenda.inspections.notices())
        self._agenda.publish("bets.closed", t, Bets(round=self._round, cause=cause, notices=notices))
        if self._machine.allows("no_more_bets"):
            self._machine.fire("no_more_bets")

    def _open_bets(self, t: int, cause: str) -> None:
        self._bets_open = True
        self._round += 1
        self._agenda.set_lamp(t, "no_more_bets", "off")
        self._agenda.publish("bets.opened", t, Bets(round=self._round, cause=cause))

    def _dealer_closes(self, entered: Input) -> None:
        if not self._bets_open:
            raise InputRefused("bets_closed")
        self.spins.begin_pending(entered.t)
        self._bets_by_hand = not self.open_attempt
        self._close_bets(entered.t, "dealer")

    def _dealer_opens(self, entered: Input) -> None:
        if self._bets_open:
            raise InputRefused("bets_open")
        if self.open_attempt:
            raise InputRefused("under_way")
        self._open_bets(entered.t, "dealer")
