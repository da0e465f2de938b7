"""`tablectl simulate --staff me`: a virtual table that waits for a person, its controller, and a score."""

import getpass
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from controller.cli.input import WAIT_S, ArgumentError, arguments_of
from controller.cli.link import Json, OutOfReachError, ask, conversation
from controller.cli.screen import Entry, Screen
from controller.cli.shell import OK, say
from controller.cli.teller import Teller
from controller.cli.watch import Watcher, outcome_of
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
from drivers.sim.practice import (
    STAFF,
    Hands,
    Result,
    card_to_set,
    in_order,
    lies_at_us,
    right_word,
    seen_at_the_table,
)
from drivers.sim.scenes import Scene
from drivers.sim.stage import Stage
from drivers.sim.table import Act, VirtualTable

_READY_S = 60.0
_STOP_S = 15.0
_POLL_S = 0.1
_NO_GAME = "button_draw"
_BY = {
    "dice_collected": "stickperson",
    "pass_dice": "stickperson",
    "new_shooter": "stickperson",
} | dict.fromkeys(("lock", "unlock", "open_table", "close_table"), "supervisor")
"""Who says what at a table, where it is not the one who rules."""


@dataclass(slots=True)
class Standing:
    """What the table holds of one attempt now."""

    number: int
    result: Result | None = None
    decided: bool = False
    rule: str = ""
    """Of the review that it went through."""
    unruled: bool = False

    def hear(self, outcome: Outcome) -> None:
        """Take note of what was told of it."""
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
    """One attempt of the practice: what happened, and what stands of it."""

    scene: Scene
    card: Input | None = None
    """How a card of a deal is put right, where one must be."""
    standing: Standing | None = None


@dataclass(frozen=True, slots=True)
class Missed:
    """An attempt that stands otherwise than it should, what to say the next time, and the rule."""

    number: int
    what: str
    remedy: str
    rule: str


@dataclass(slots=True)
class Score:
    """Every attempt so far."""

    spoken_rule: str
    """The rule by which a person calls an attempt off."""
    read_rule: str
    """The rule by which a person decides what was read wrong."""
    void_word: str = "no_roll"
    """What a person says where an attempt does not count."""
    turns: list[Turn] = field(default_factory=list)

    def begin(self, scene: Scene, card: Input | None = None) -> None:
        """Begin the next attempt; `card` is how one of a deal is put right."""
        self.turns.append(Turn(scene, card))

    def hear(self, outcome: Outcome) -> None:
        """Take note of what the table told: of the attempt under way, or of one before."""
        number = attempt_of(outcome)
        if number is None or not self.turns:
            return
        standing = next((t.standing for t in self.turns if t.standing and t.standing.number == number), None)
        if standing is None:
            standing = self.turns[-1].standing = self.turns[-1].standing or Standing(number)
        standing.hear(outcome)

    def counted(self) -> list[Turn]:
        """Return the attempts that have one right end, and of which the table told something."""
        return [
            turn for turn in self.turns if turn.standing is not None and right_word(turn.scene) is not None
        ]

    def missed(self) -> list[Missed]:
        """Return what stands otherwise than it should."""
        return [missed for turn in self.counted() if (missed := self._missed(turn)) is not None]

    def _missed(self, turn: Turn) -> Missed | None:
        right, standing = right_word(turn.scene), turn.standing
        assert right is not None
        assert standing is not None
        stands = "under review" if not standing.decided else _result(standing.result)
        if standing.decided and not standing.unruled and _same(standing.result, right.result):
            return None
        if not standing.decided or standing.unruled:
            what = f"nobody ruled on the review; right was {_result(right.result)}"
            return Missed(standing.number, what, self._remedy(right.result, turn.card), standing.rule)
        rule = self.spoken_rule if right.result is None else self.read_rule
        what = f"{stands} stands; right was {_result(right.result)}"
        return Missed(standing.number, what, self._remedy(right.result, turn.card), rule)

    def _remedy(self, result: Result | None, card: Input | None) -> str:
        if result is None:
            return self.void_word
        if isinstance(result, Mapping):
            return "accept" if card is None else _set_card(card)
        return f"set_number {result}" if isinstance(result, str) else f"set_dice {result[0]} {result[1]}"


def score_lines(screen: Screen, score: Score) -> list[str]:
    """Return the score: how many attempts stand as they should, and what was missed, with its rule."""
    counted, missed = score.counted(), score.missed()
    if not counted:
        return ["no attempt was played to its end: no score"]
    right = len(counted) - len(missed)
    told = f"Score: {right} of {len(counted)} stand as they should"
    lines = ["", screen.styled(told, "green" if not missed else "yellow")]
    for one in missed:
        rule = f" ({one.rule})" if one.rule else ""
        lines += screen.entry(Entry(f"  {one.number:>3}  ", f"{one.what}: say {one.remedy}{rule}"))
    return lines


def _same(one: Result | None, other: Result | None) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return sorted(one) == sorted(other)
    return one == other


def _result(result: Result | None) -> str:
    if result is None:
        return "that it does not count"
    if isinstance(result, Mapping):
        return _hands(result)
    return result if isinstance(result, str) else f"{result[0]}-{result[1]}"


def _hands(hands: Hands) -> str:
    return ", ".join(f"{position} {' '.join(cards)}" for position, cards in hands.items())


def _set_card(card: Input) -> str:
    replaces = "" if card.what is None else f" what={card.what}"
    return f"set_card {card.card} seat={card.seat}{replaces}"


def _stage_in(status: Json) -> str:
    """Return how far a game of High Roller is; a table that says nothing of one has none."""
    match status:
        case {"state": {"high_roller": {"stage": str(stage)}}}:
            return stage
        case _:
            return _NO_GAME


class Practice:
    """One practice: the stage in a thread, the controller in a process, the person at the prompt."""

    def __init__(self, settings: TableSettings, screen: Screen, stopping: threading.Event) -> None:
        """Prepare; nothing runs yet."""
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
        self._teller = Teller(screen)
        self._stopping = stopping
        self._go = threading.Event()
        self._typed: queue.Queue[str | None] = queue.Queue()
        self._table: VirtualTable | None = None

    def cue(self) -> bool:
        """Return whether the person has asked for the next attempt, once."""
        asked = self._go.is_set()
        self._go.clear()
        return asked

    def stage(self) -> str:
        """Return how far the controller's game of High Roller was when the person asked for a roll."""
        return self._stage

    def begun(self, act: Act) -> None:
        """Begin an attempt, in the stage's thread: what is seen at the table is said when it lies there."""
        (scene,) = act.scenes
        card = card_to_set(act) if self._staff.cards else None
        self.score.begin(scene, card)
        assert self._table is not None
        self._table.at(lies_at_us(self._game, act), lambda _now_us: self._see(scene, card))

    def _see(self, scene: Scene, card: Input | None) -> None:
        for sentence in seen_at_the_table(scene, card):
            self._teller.event(f"You see: {sentence}.", "bold")
        self._teller.event("Rule if you must; Enter goes on.", "dim")

    def run(self, stage: Stage, table: VirtualTable, folder: Path, table_file: Path) -> int:
        """Play until the evening, the person or a signal ends it, and print the score."""
        self._table, self._folder, self._file = table, folder, table_file
        self._socket = str(folder / "control.sock")
        playing = threading.Thread(target=stage.run, args=(self._over,), name="stage")
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
        return OK

    def _over(self) -> bool:
        return self._stopping.is_set()

    def _controller(self, log: BinaryIO) -> subprocess.Popen[bytes]:
        words = ["run", str(self._file), "--journal", str(self._folder / "journal"), "--socket", self._socket]
        return subprocess.Popen(  # noqa: S603 - this very program
            [sys.executable, "-m", "controller.cli.main", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )

    def _ready(self, controller: subprocess.Popen[bytes]) -> bool:
        """Wait until the table is unlocked; say why where it does not come to that."""
        self._screen.draft("the controller starts and looks for its devices...")
        end_s = time.monotonic() + _READY_S
        while time.monotonic() < end_s and not self._stopping.wait(_POLL_S):
            if controller.poll() is not None:
                say(f"{self._folder / 'controller.log'}: the controller ended; its last words are there")
                return False
            if self._status().get("lock") == "unlocked":
                return True
        if not self._stopping.is_set():
            say(f"the table is still locked: tablectl status --socket {self._socket} says why")
        return False

    def _listen(self) -> None:
        """Tell what the table says, and hear what is typed, each in a thread of its own."""
        for name, does in (("watch", self._watch), ("keyboard", self._read)):
            threading.Thread(target=does, name=name, daemon=True).start()

    def _watch(self) -> None:
        watcher = Watcher(self._screen, lambda: "", says="")
        with suppress(OutOfReachError):
            for line in conversation(self._socket, {"do": "watch", "topics": ["outcomes", "faults"]}):
                if "outcome" in line:
                    self.score.hear(outcome_of(line["outcome"]))
                if "ok" not in line:
                    watcher.tell(line)

    def _read(self) -> None:
        while sys.stdin is not None and (line := sys.stdin.readline()):
            self._typed.put(line.strip())
        self._typed.put(None)

    def _prompt(self) -> None:
        self._screen.line(f"You are the staff. Enter {self._staff.does}; then rule where you must:")
        self._screen.line(f"  {self._staff.rulings}, accept, lock, unlock ... `score` tells how it stands,")
        self._screen.line("  `end` or Ctrl-D ends.")
        while not self._stopping.is_set():
            try:
                typed = self._typed.get(timeout=_POLL_S)
            except queue.Empty:
                if self._table is not None and self._table.over:
                    return
                continue
            if typed is None or typed in ("end", "quit", "exit"):
                return
            self.obey(typed)

    def obey(self, typed: str) -> None:
        """Do what a typed line asks for: go on, tell the score, or enter an input."""
        if typed in ("", "throw", "spin", "deal", "next"):
            self._go_on()
            return
        if typed == "score":
            self._screen.lines(score_lines(self._screen, self.score))
            return
        name, *words = typed.split()
        self._enter(name, words)

    def _go_on(self) -> None:
        """Clear the table of the last attempt, and let the next one begin."""
        status = self._status()
        if self._staff.cards and status.get("attempt_open"):
            self._teller.event("the deal is still open: rule on it, or call a misdeal", "yellow")
            return
        self._stage = _stage_in(status)
        if self.score.turns and self._staff.dice:
            self._enter("dice_collected", [], quietly=True)
        if self.score.turns and (self._staff.cards or self._stage == "won"):
            self._enter("settled", [], quietly=True)
        self._go.set()

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
            request = {"do": "input", "name": name, "by": by, "who": getpass.getuser(), "wait_s": WAIT_S}
            told = ask(self._socket, {**request, **arguments_of(name, words)})
        except (ArgumentError, OutOfReachError) as error:
            say(error)
            return
        if told["ok"]:
            if not quietly:
                self._teller.event(str(told.get("says", "")), "green")
            return
        if quietly:
            return
        allowed = told.get("allowed")
        may = f"; allowed now: {', '.join(map(str, allowed))}" if isinstance(allowed, list) else ""
        self._teller.event(f"{told['says']}{may}", "red")
