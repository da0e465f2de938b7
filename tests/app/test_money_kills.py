"""A session of High Roller whose table loses power after every input and card, and during every throw."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from controller.app.daemon import Daemon
from controller.engine.resume import OpenAttempts
from controller.engine.session import Session
from controller.games.high_roller.buying import miss_cards
from controller.games.high_roller.table import as_high_roller_state
from controller.machines import setup
from controller.machines.setup import read_memory
from controller.model.effects import Effect
from controller.model.outcomes import Outcome, RollNoRoll, RollReview, TableEvent
from controller.model.readings import AnyReading
from drivers.sim import dice, high_roller
from drivers.sim.scenes import Feed, in_order_of_arrival
from tests.app.house import House, HouseMaker, drain, live_of, play, unlocked
from tests.scenes import SECOND_US, input_at
from tests.settlement_service.rig import House as Bank
from tests.settlement_service.rig import SealedTable, key_in

SHIPPED = Path(__file__).parents[2] / "config" / "tables" / "high-roller.yaml"
GAP_US = 10 * SECOND_US
"""Time from a kill to the next step, longer than every timer of the game."""
NUMBERS = ("roll", "corrects")
"""The fields that differ in a session with more attempts. All other fields must be equal."""
REST_US = 400_000
"""Time after a reading by which its reordering and the hold of its call are over."""
GAMES = 4
EVERYTHING = {"elimination", "roll_off", "tie", "in_a_row", "final_game"}
"""Every deciding call of a roll, and every reason for a payout of the Bonus Pot."""


Step = Feed
"""The readings of one action: an input, a card, or a throw with the inputs around it."""


def with_everything() -> high_roller.Simulation:
    """Return the first short session in which every kind of event occurs."""
    for seed in count(1):
        simulation = high_roller.Simulation(seed)
        simulation.draw_button()
        for number in range(1, GAMES + 1):
            if number == GAMES:
                simulation.enter("closing")
            simulation.play(number, final=number == GAMES)
        published = [(str(one["type"]), cast("dict[str, object]", one["data"])) for one in simulation.truth]
        if kinds_of_event(published) >= EVERYTHING and len(simulation.thrown) < 20:
            return simulation
    raise AssertionError


def kinds_of_event(published: Iterable[tuple[str, dict[str, object]]]) -> set[object]:
    """Return the calls of all rolls, and the causes of the Bonus Pot's payouts."""
    word = {"roll.called": "call", "bonus.paid": "cause"}
    return {data[word[kind]] for kind, data in published if kind in word}


def steps_of(simulation: high_roller.Simulation) -> Iterator[Step]:
    """Yield a session step by step."""
    throws = [(scene.start_us, scene.end_us) for scene in simulation.thrown]
    step: Feed = []
    inside: tuple[int, int] | None = None
    for arrived, reading in in_order_of_arrival(simulation.feed):
        of = next((span for span in throws if span[0] <= reading.t <= span[1]), None)
        if step and (of is None or of != inside):
            yield step
            step = []
        step.append((arrived, reading))
        inside = of
    yield step


def from_now(feed: Feed, now_us: int) -> list[AnyReading]:
    """Shift the readings so that they start now."""
    shift = now_us - feed[0][0]
    return [
        msgspec.structs.replace(reading, t=reading.t + shift, arrived=arrived + shift)
        for arrived, reading in feed
    ]


def copy_at_rest(journal: Path, to: Path) -> None:
    """Copy the journal at rest, because a copy during a checkpoint would not match a power cut."""

    def written() -> list[tuple[str, int, int]]:
        return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in journal.glob("*.*")]

    while True:
        before = written()
        shutil.copytree(journal, to, dirs_exist_ok=True)
        if written() == before:
            return


class InterruptedTable:
    """A table that loses power repeatedly and restarts from the state of the disk."""

    def __init__(self, house: House, folder: Path) -> None:
        self.house = house
        self.folder = folder
        self.kills = 0
        self.cut_off = 0
        self.daemon = house.open()
        unlocked(self.daemon)

    @property
    def now_us(self) -> int:
        return self.daemon.clock.now_us() + GAP_US

    @property
    def attempt_open(self) -> bool:
        """Return whether a throw waits for its call or for a ruling."""
        return live_of(self.daemon).core.view.attempt_open

    def play_step(self, step: Step) -> None:
        """Feed the whole step, and wait for its call."""
        play(self.daemon, from_now(step, self.now_us))

    def begins(self, step: Step, place: int) -> None:
        """Feed the first `place` readings of the step without advancing time past the last."""
        for reading in from_now(step[:place], self.now_us):
            assert self.daemon.inlet.post(reading)
        drain(self.daemon)

    def killed(self) -> None:
        """Cut the power, and start from the state of the disk."""
        before = read_memory(live_of(self.daemon).core.view.state.high_roller, as_high_roller_state)
        self.kills += 1
        disk = self.folder / str(self.kills)
        copy_at_rest(self.house.options.journal, disk)
        now_us = self.daemon.clock.now_us()
        for each in self.house.daemons:
            each.close()
        self.house = House(disk, replace(self.house.options, journal=disk), settings=self.daemon.settings)
        self.house.clock.reach(now_us)
        self.daemon = self.house.open()
        self.daemon.approve_identity("technician", "ann")  # the program may have been edited meanwhile
        drain(self.daemon)
        assert before is not None
        # A due card may have been pitched while the table was off.
        assert live_of(self.daemon).core.view.state.high_roller == setup.to_json_values(
            miss_cards(before, before.sold)
        )

    def killed_in(self, step: Step, place: int) -> None:
        """Cut the power during a throw, with or without a ruling on it, before the dice are thrown again."""
        self.begins(step, place)
        assert self.attempt_open
        self.killed()
        self.cut_off += 1
        view = live_of(self.daemon).core.view
        assert [cut.attempt for cut in view.pending] == ["roll"]
        if self.cut_off % 2:
            play(self.daemon, [input_at(self.now_us, "no_roll", "dealer")])
        unlocked(self.daemon)

    def close(self) -> None:
        for each in self.house.daemons:
            each.close()


class Uninterrupted(NamedTuple):
    """The engine's outcomes for the same session without interruption.

    `steps` are the session's steps, some joined so that none ends in a throw. For each step with one throw,
    `open_after` holds the numbers of readings after which that throw is open.
    """

    published: list[Outcome]
    steps: list[Step]
    open_after: list[list[int]]


def uninterrupted(daemon: Daemon, steps: Iterable[Step]) -> Uninterrupted:
    """Play the whole session."""
    setup = live_of(daemon).setup
    session = Session(replace(setup, state=live_of(daemon).core.view.state))
    progress = OpenAttempts(setup.first)
    whole = Uninterrupted([], [], [])

    def follow(effects: Sequence[Effect]) -> bool:
        outcomes = [effect for effect in effects if isinstance(effect, Outcome)]
        whole.published.extend(outcomes)
        for outcome in outcomes:
            progress.follow(outcome)
        return progress.open_before(session.first())

    shift_us = daemon.clock.now_us() + GAP_US
    joined: Step = []
    counts: list[int] = []
    roll = setup.first.roll
    for step in steps:
        for arrived, reading in step:
            joined.append((arrived, reading))
            now_us = arrived + shift_us
            follow(session.feed(msgspec.structs.replace(reading, t=reading.t + shift_us, arrived=now_us)))
            if follow(session.advance(now_us)):
                counts.append(len(joined))
        if follow(session.advance(joined[-1][0] + shift_us + REST_US)):
            continue
        whole.steps.append(joined)
        whole.open_after.append(counts if session.first().roll == roll + 1 else [])
        joined, counts, roll = [], [], session.first().roll
    assert not joined
    return whole


def of_play(published: list[Outcome]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the outcomes of the game, without numbers, locks and interrupted throws.

    A call from before a power cut can't be corrected, so settlement has nothing to correct. An interrupted
    throw is repeated with the same cable faults, and the table correctly publishes each fault again.
    """
    cut_off = {
        outcome.data.roll
        for outcome in published
        if isinstance(outcome.data, RollNoRoll) and outcome.data.reasons[0].code == "power_lost"
    }
    for outcome in published:
        match outcome.data:
            case RollReview(roll=roll) | RollNoRoll(roll=roll):
                of_cut = roll in cut_off
            case TableEvent(cause=cause):
                of_cut = outcome.type.startswith(("table.", "device.")) or cause == "nothing_to_settle"
            case _:
                of_cut = False
        if not of_cut:
            data = msgspec.to_builtins(outcome.data)
            yield outcome.type, {key: value for key, value in data.items() if key not in NUMBERS}


def money(published: list[Outcome], folder: Path) -> dict[str, int]:
    """Settle the outcomes with an engine; return every account."""
    folder.mkdir()
    key = key_in(folder)
    table = SealedTable("high-roller", key, first_seq=published[0].seq)
    bank = Bank(f"sqlite:///{folder}/money.db")
    bank.enrol(table, "high-roller-12-005")
    bank.takes(map(table.sealed, published))
    proof = bank.proof()
    bank.store.close()
    assert proof.faults == ()
    return dict(proof.accounts)


def test_a_session_of_high_roller_survives_a_power_cut_after_every_input_and_in_every_throw(
    house: HouseMaker, tmp_path: Path
) -> None:
    file = tmp_path / "high-roller.yaml"
    length = f"length_mm: {dice.TABLE.length_mm:g}"
    file.write_text(SHIPPED.read_text(encoding="utf-8").replace("length_mm: 2400", length), encoding="utf-8")
    table = InterruptedTable(house(table=str(file)), tmp_path)
    told_by_itself, steps, open_after = uninterrupted(table.daemon, steps_of(with_everything()))
    for step, counts in zip(steps, open_after, strict=True):
        for place in {counts[0], counts[-1]} if counts else ():
            table.killed_in(step, place)
        table.play_step(step)
        table.killed()
        unlocked(table.daemon)
    published = table.house.outcomes()
    table.close()
    assert table.cut_off == sum(len({counts[0], counts[-1]}) for counts in open_after if counts) > 20
    played = list(of_play(published))
    assert played == list(of_play(told_by_itself))
    assert kinds_of_event(played) >= EVERYTHING
    assert money(published, tmp_path / "killed") == money(told_by_itself, tmp_path / "by itself")
