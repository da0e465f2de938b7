"""`tablectl simulate --staff me`: practise as a virtual table's staff, with a score."""

import io
import queue
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import BinaryIO

from controller.cli.commentary import Commentary
from controller.cli.input import WAIT_S, ArgumentError, arguments_of
from controller.cli.link import Json, OutOfReachError, ask, conversation
from controller.cli.screen import Entry, Screen
from controller.cli.shell import DEFECT, FAILED, OK, caller, say
from controller.cli.watch import Watcher, decode_outcome
from controller.model.outcomes import (
    DealCalled,
    DealCorrected,
    DealReview,
    DealVoid,
    Outcome,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    RollReview,
    SpinCalled,
    SpinCorrected,
    SpinNoSpin,
    SpinReview,
    attempt_of,
)
from controller.model.readings import Input
from controller.model.tables import TableSettings
from controller.people.register import PUBLIC_FILE
from drivers.sim.practice import (
    STAFF,
    Hands,
    Result,
    SeatRequest,
    card_to_set,
    correct_result,
    in_order,
    last_seen_us,
    observations,
    player_request,
)
from drivers.sim.scenes import Scene
from drivers.sim.stage import Stage
from drivers.sim.table import Act, VirtualTable


@dataclass(slots=True)
class AttemptResult:
    """The current result of an attempt, from the table's outcomes."""

    number: int
    result: Result | None = None
    decided: bool = False
    rule: str = ""
    """The rule behind the attempt's review."""
    unruled: bool = False

    def add(self, outcome: Outcome) -> None:
        """Apply an outcome of this attempt."""
        match outcome.data:
            case RollCalled(dice=dice):
                self.result, self.decided = dice, True
            case SpinCalled(number=number):
                self.result, self.decided = number, True
            case RollNoRoll(reasons=reasons) | SpinNoSpin(reasons=reasons):
                self.result, self.decided = None, True
                self.unruled = any(reason.code == "unruled" for reason in reasons)
            case RollReview(reasons=reasons) | SpinReview(reasons=reasons):
                self.rule = next((reason.rule for reason in reasons if reason.rule), "")
            case RollCorrected(dice=dice):
                self.result = dice
            case SpinCorrected(number=number):
                self.result = number
            case DealCalled(hands=hands, dealer=dealer):
                self.result, self.decided = in_order({**hands, "dealer": dealer}), True
            case DealVoid(reasons=reasons):
                self.result, self.decided = None, True
            case DealReview(reasons=reasons):
                self.rule = next((reason.rule for reason in reasons if reason.rule), "")
            case DealCorrected(hands=hands, dealer=dealer):
                self.result = None if hands is None else in_order({**hands, "dealer": dealer or ()})
            case _:
                pass


@dataclass(slots=True)
class Turn:
    """One attempt in a practice session: the simulated scene, and the table's result."""

    scene: Scene
    card: Input | None = None
    """The input that corrects a misread card of the deal; None if no card was misread."""
    published: AttemptResult | None = None


@dataclass(slots=True)
class PlayerRequest:
    """A player's request, and whether it was entered before the next request."""

    request: SeatRequest
    entered: bool = False


@dataclass(frozen=True, slots=True)
class MissedAction:
    """A missed ruling or request, with its remedy and rule.

    `number` is the attempt's number, or None for a player's request.
    """

    number: int | None
    what: str
    remedy: str
    rule: str


@dataclass(slots=True)
class Score:
    """The score of all attempts so far."""

    spoken_rule: str
    """The rule by which a person declares an attempt void."""
    read_rule: str
    """The rule by which a person corrects a misread result."""
    void_name: str = "no_roll"
    """The input that declares an attempt void."""
    turns: list[Turn] = field(default_factory=list)
    requests: list[PlayerRequest] = field(default_factory=list)

    def begin(self, scene: Scene, card: Input | None = None) -> None:
        """Begin the next attempt; `card` is the input that corrects a misread card."""
        self.turns.append(Turn(scene, card))

    def add_request(self, request: SeatRequest) -> None:
        """Add a player's request."""
        self.requests.append(PlayerRequest(request))

    def enter(self, name: str, seat: object) -> None:
        """Mark the last request as entered if this input, which the table accepted, matches it."""
        for request in self.requests[-1:]:
            request.entered |= (name, str(seat)) == (request.request.name, request.request.seat)

    def add(self, outcome: Outcome) -> None:
        """Apply an outcome of the current attempt or an earlier attempt."""
        number = attempt_of(outcome)
        if number is None or not self.turns:
            return
        published = next(
            (t.published for t in self.turns if t.published and t.published.number == number), None
        )
        if published is None:
            published = self.turns[-1].published = self.turns[-1].published or AttemptResult(number)
        published.add(outcome)

    def counted(self) -> list[Turn]:
        """Return the decided or reviewed attempts that have a single correct result."""
        return [
            turn
            for turn in self.turns
            if turn.published is not None and correct_result(turn.scene) is not None
        ]

    def missed(self) -> list[MissedAction]:
        """Return the incorrect results, the unruled reviews, and the players' requests not entered."""
        missing = [made.request for made in self.requests if not made.entered]
        return [missed for turn in self.counted() if (missed := self._missed(turn)) is not None] + [
            MissedAction(None, one.text, f"{one.name} {one.seat}", one.rule) for one in missing
        ]

    def _missed(self, turn: Turn) -> MissedAction | None:
        right, published = correct_result(turn.scene), turn.published
        assert right is not None
        assert published is not None
        if published.decided and not published.unruled and _is_same_result(published.result, right.result):
            return None
        if not published.decided or published.unruled:
            what = f"the review was not ruled on; the correct result was {_result(right.result)}"
            return MissedAction(published.number, what, self._remedy(right.result, turn.card), published.rule)
        rule = self.spoken_rule if right.result is None else self.read_rule
        what = (
            f"the table recorded {_result(published.result)}; the correct result was {_result(right.result)}"
        )
        return MissedAction(published.number, what, self._remedy(right.result, turn.card), rule)

    def _remedy(self, result: Result | None, card: Input | None) -> str:
        if result is None:
            return self.void_name
        if isinstance(result, Mapping):
            return "accept" if card is None else _set_card(card)
        return f"set_number {result}" if isinstance(result, str) else f"set_dice {result[0]} {result[1]}"


def score_lines(screen: Screen, score: Score) -> list[str]:
    """Return the lines of the score: the number of correct attempts, and each mistake with its rule."""
    count, missed = len(score.counted()) + len(score.requests), score.missed()
    if not count:
        return ["no attempt was completed, so there is no score"]
    summary = f"Score: {count - len(missed)} of {count} correct"
    lines = ["", screen.styled(summary, "green" if not missed else "yellow")]
    for one in missed:
        rule = f" ({one.rule})" if one.rule else ""
        number = "" if one.number is None else one.number
        lines += screen.entry(Entry(f"  {number:>3}  ", f"{one.what}: enter {one.remedy}{rule}"))
    return lines


def _is_same_result(one: Result | None, other: Result | None) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return sorted(one) == sorted(other)
    return one == other


def _result(result: Result | None) -> str:
    if result is None:
        return "void"
    if isinstance(result, Mapping):
        return _hands(result)
    return result if isinstance(result, str) else f"{result[0]}-{result[1]}"


def _hands(hands: Hands) -> str:
    return ", ".join(f"{position} {' '.join(cards)}" for position, cards in hands.items())


def _set_card(card: Input) -> str:
    replaces = "" if card.what is None else f" what={card.what}"
    return f"set_card {card.card} seat={card.seat}{replaces}"


_READY_S = 60.0
_STOP_S = 15.0
_POLL_S = 0.1
_NO_GAME = "button_draw"
_FAILURE_LOG = "practice.log"
_BY = {
    "dice_collected": "stickperson",
    "pass_dice": "stickperson",
    "new_shooter": "stickperson",
} | dict.fromkeys(("lock", "unlock", "open_table", "close_table"), "supervisor")
"""The role for each input that is not entered by the person who rules."""


def _high_roller_in(status: Json) -> Json:
    match status:
        case {"state": {"high_roller": dict() as game}}:
            return game
        case _:
            return {}


def _stage_in(status: Json) -> str:
    """Return the stage of the High Roller game or, if there is no game, the stage of the button draw."""
    return str(_high_roller_in(status).get("stage", _NO_GAME))


class Practice:
    """A practice session: a thread for the virtual table, a process for the controller, and the keyboard."""

    def __init__(
        self, settings: TableSettings, screen: Screen, stopping: threading.Event, *, seed: int = 1
    ) -> None:
        """Prepare the session without starting it; `seed` determines the players' High Roller requests."""
        rules = settings.rules
        judged = rules.throw or rules.spin or rules.deal
        causes = {} if judged is None else judged.causes
        self._game = rules.game
        self._staff = STAFF[rules.game]
        self._stage = _NO_GAME
        self.score = Score(causes.get("called", ""), causes.get("conflict", ""), self._staff.void)
        self._screen = screen
        self._folder = self._file = Path()
        self._socket = ""
        self._commentary = Commentary(screen)
        self._stopping = stopping
        self._go = threading.Event()
        self._under_way = False
        """Whether an attempt has started but its result can't be seen yet."""
        self._players = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
        self._code = OK
        self._had_request = False
        self._typed: queue.Queue[str | None] = queue.Queue()
        self._table: VirtualTable | None = None

    def cue(self) -> bool:
        """Return whether the person has started the next attempt; True once per attempt."""
        started = self._go.is_set()
        self._go.clear()
        return started

    def stage(self) -> str:
        """Return the stage that the High Roller game had reached when the person started the roll."""
        return self._stage

    def begun(self, act: Act) -> None:
        """Begin an attempt (in the stage's thread); describe it when a person can see the result."""
        (scene,) = act.scenes
        card = card_to_set(act) if self._staff.cards else None
        self.score.begin(scene, card)
        assert self._table is not None
        self._table.at(last_seen_us(self._game, act), lambda _now_us: self._see(scene, card))

    def _see(self, scene: Scene, card: Input | None) -> None:
        self._under_way = False
        for sentence in observations(scene, card):
            self._commentary.event(f"You see: {sentence}.", "bold")
        self._commentary.event("Rule on it if needed; then press Enter to continue.", "dim")

    def run(self, stage: Stage, table: VirtualTable, folder: Path, table_file: Path) -> int:
        """Play until the attempts are over, the person quits or a signal arrives; return the exit code."""
        self._table, self._folder, self._file = table, folder, table_file
        self._socket = str(folder / "control.sock")
        playing = threading.Thread(target=self._guard, args=(lambda: stage.run(self._over),), name="stage")
        playing.start()
        with (self._folder / "controller.log").open("wb") as log:
            controller = self._controller(log)
            try:
                if self._ready(controller):
                    self._listen()
                    self._prompt()
                self._screen.lines(score_lines(self._screen, self.score))
            finally:
                self._stopping.set()
                controller.terminate()
                with suppress(subprocess.TimeoutExpired):
                    controller.wait(_STOP_S)
                playing.join(_STOP_S)
        self._screen.line("the virtual table is switched off")
        return self._code

    def _guard(self, run: Callable[[], None]) -> None:
        """Run a thread's function; if it fails, save the traceback and end the session with a message."""
        try:
            run()
        except Exception as error:  # noqa: BLE001 - a thread that died would leave the session waiting
            self._code = DEFECT
            self._stopping.set()
            kept = self._folder / _FAILURE_LOG
            with suppress(OSError), kept.open("a", encoding="utf-8") as log:
                traceback.print_exception(error, file=log)
            thread, what = threading.current_thread().name, str(error) or type(error).__name__
            self._screen.line()
            say(f"practice: the {thread} thread failed ({what}), so the session ends; details are in {kept}")
            say(f"run the same command again; if it fails again, send {kept} to support")

    def _over(self) -> bool:
        return self._stopping.is_set()

    def _controller(self, log: BinaryIO) -> subprocess.Popen[bytes]:
        words = [
            "run", str(self._file),
            "--journal", str(self._folder / "journal"),
            "--socket", self._socket,
            "--sign-in-key", str(self._folder / "people" / PUBLIC_FILE),
        ]  # fmt: skip
        return subprocess.Popen(  # noqa: S603 - runs this program
            [sys.executable, "-m", "controller.cli.main", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def _ready(self, controller: subprocess.Popen[bytes]) -> bool:
        """Return whether the table unlocks in time; print the reason if it does not."""
        self._screen.draft("the controller is starting and looking for its devices...")
        end_s = time.monotonic() + _READY_S
        while time.monotonic() < end_s and not self._stopping.wait(_POLL_S):
            if controller.poll() is not None:
                say(f"practice: the controller exited; see its messages in {self._folder / 'controller.log'}")
                self._code = FAILED
                return False
            if self._status().get("lock") == "unlocked":
                return True
        if not self._stopping.is_set():
            say(
                "practice: the table is still locked;"
                f" to see why, run: tablectl status --socket {self._socket}"
            )
            self._code = FAILED
        return False

    def _listen(self) -> None:
        for name, run in (("watch", self._watch), ("keyboard", self._read)):
            threading.Thread(target=self._guard, args=(run,), name=name, daemon=True).start()

    def _watch(self) -> None:
        watcher = Watcher(self._screen, lambda: "", enter_with="")
        with suppress(OutOfReachError):
            for line in conversation(self._socket, {"do": "watch", "topics": ["outcomes", "faults"]}):
                if "outcome" in line:
                    self.score.add(decode_outcome(line["outcome"]))
                if "ok" not in line:
                    watcher.write(line)

    def _read(self) -> None:
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")  # an invalid byte is a typing mistake
        while sys.stdin is not None and (line := sys.stdin.readline()):
            self._typed.put(line.strip())
        self._typed.put(None)

    def _prompt(self) -> None:
        self._screen.line(f"You are the staff. The Enter key {self._staff.does}; then rule if needed:")
        self._screen.line(f"  {self._staff.rulings}, accept, lock, unlock ... `score` shows the score,")
        self._screen.line("  `end` or Ctrl-D ends the session.")
        while not self._stopping.is_set():
            try:
                typed = self._typed.get(timeout=_POLL_S)
            except queue.Empty:
                if self._table is not None and self._table.over:
                    return
                continue
            if typed is None or typed in ("end", "quit", "exit"):
                return
            self.execute(typed)

    def execute(self, typed: str) -> None:
        """Execute a typed line: start the next attempt, print the score, or enter an input."""
        if typed in ("", "throw", "spin", "deal", "next"):
            self._start_next()
            return
        if typed == "score":
            self._screen.lines(score_lines(self._screen, self.score))
            return
        name, *words = typed.split()
        self._enter(name, words)

    def _start_next(self) -> None:
        if self._under_way:
            self._commentary.event("wait until this attempt is over", "yellow")
            return
        status = self._status()
        if self._staff.cards and status.get("attempt_open"):
            self._commentary.event("the deal is still open; rule on it, or call a misdeal", "yellow")
            return
        self._stage = _stage_in(status)
        if self.score.turns and self._staff.dice:
            self._enter("dice_collected", [], quietly=True)
        if self.score.turns and (self._staff.cards or self._stage == "won"):
            self._enter("settled", [], quietly=True)
        if self._let_player_ask(status):
            return
        self._under_way = True
        self._go.set()
        self._commentary.event(self._begins(), "dim")

    def _begins(self) -> str:
        new_game = self._staff.begins_game and self._stage in (_NO_GAME, "won")
        return self._staff.begins_game if new_game else self._staff.begins

    def _let_player_ask(self, status: Json) -> bool:
        """Announce a High Roller player's request, but not twice in a row; return whether one was made."""
        if self._had_request:
            self._had_request = False
            return False
        request = player_request(_high_roller_in(status), self._players)
        if request is None:
            return False
        self._had_request = True
        self.score.add_request(request)
        self._commentary.event(f"You hear: {request.text}.", "bold")
        self._commentary.event("Enter it; then press Enter to continue.", "dim")
        return True

    def _status(self) -> Json:
        with suppress(OutOfReachError):
            status = ask(self._socket, {"do": "status"})["status"]
            if isinstance(status, dict):
                return status
        return {}

    def _enter(self, name: str, words: Sequence[str], *, quietly: bool = False) -> None:
        by = _BY.get(name, self._staff.role)
        if by == "stickperson" and not self._staff.stickperson:
            by = self._staff.role
        try:
            request = {"do": "input", "name": name, "by": by, "who": caller(), "wait_s": WAIT_S}
            entered = arguments_of(name, words)
            answer = ask(self._socket, {**request, **entered})
        except (ArgumentError, OutOfReachError) as error:
            say(error)
            return
        if answer["ok"]:
            self.score.enter(name, entered.get("seat"))
            if not quietly:
                self._commentary.event(str(answer.get("says", "")), "green")
            return
        if quietly:
            return
        allowed = answer.get("allowed")
        may = f"; allowed now: {', '.join(map(str, allowed))}" if isinstance(allowed, list) else ""
        self._commentary.event(f"{answer['says']}{may}", "red")
