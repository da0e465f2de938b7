"""A technician at the virtual table, who carries out the test steps that the table's test lamp shows.

During a test, the table sets the lamp `test` on every board. The lamp's value is a request such as
`throw_left-3`: an action, and a number that distinguishes it from the previous request.
"""

from collections.abc import Callable, Mapping
from functools import partial

from controller.model.geometry import DiceTable, Wheel
from controller.model.readings import (
    AnyReading,
    BallOut,
    DieContact,
    DieOffTable,
    DieRest,
    ForeignObject,
    Input,
    PocketBall,
    RotorIndex,
    Switch,
    Wall,
    WallImpact,
)
from drivers.sim.boards import Board
from drivers.sim.plain_throws import valid
from drivers.sim.scenes import CAMERA, Feed
from drivers.sim.ss2_wheel import Game, Ss2Wheel
from drivers.sim.table import VirtualTable
from drivers.sim.throwing import Script, TableSensors, Thrower
from drivers.sim.wheel_motion import Bearing, Bowl, Fall, LossLaw, Rotor, launch_speed, run
from drivers.sim.wheel_sensors import WHEEL, Faults, Optics, Play, sense

LAMP = "test"
IDLE = frozenset({"", "off", "on"})
REACTION_US = 400_000
PLACEMENT_NOISE_MM = 0.7
ROTOR_REV_PER_S = 0.4
"""The rotor's speed when turned by hand: 24 rpm. A wheel in play turns at 10 to 25 rpm."""
BETS_PLACED_US = 5_000_000
"""Part of a game that a test skips: the wheel's betting time."""
CONSOLE = "console"


class Technician:
    """A person who watches the test lamp of every board and carries out its requests."""

    def __init__(self, table: VirtualTable, dice_table: DiceTable | None, wheel: Wheel | None) -> None:
        """Work at this table."""
        self._table = table
        self._dice_table = dice_table
        self._wheel = wheel
        self._done: set[str] = set()

    def look(self, now_us: int) -> None:
        """Read the lamps and schedule new requests."""
        boards = [cable.peer for cable in self._table.cables.values() if isinstance(cable.peer, Board)]
        shown = {board.lamps.get(LAMP, "") for board in boards}
        requested = shown - IDLE
        for request in sorted(requested - self._done):
            self._table.at(now_us + REACTION_US, partial(self.do, request.rpartition("-")[0] or request))
        # Boards receive a request one after another, so two requests might be visible at the same time.
        self._done = self._done | requested if requested else set()

    def do(self, request: str, now_us: int) -> None:
        """Carry out a request; ignore an unknown one."""
        verb, _, what = request.partition("_")
        action = _ACTIONS.get(verb)
        if action is not None:
            self._table.add_readings(action(self, what, now_us))

    # --- actions ---

    def throw(self, wall: str, now_us: int) -> Feed:
        """Throw one die against a wall."""
        table, rng = self._dice_table, self._table.rng
        if table is None or wall not in ("left", "right", "front", "back"):
            return []
        rightward = wall != "left"
        thrower = Thrower(rng, table, now_us, rightward=rightward)
        path = thrower.release(table.width_mm / 2, 0)
        if wall in ("left", "right"):
            reach = thrower.reaches()[0]
            thrower.strike_far(path, reach)
            thrower.rebound(path, reach.arrive)
        else:
            front = wall == "front"
            path.go((table.length_mm / 2, thrower.half if front else table.width_mm - thrower.half), 3.0, 1.6)
            path.strike("front" if front else "back", 1.6)
            path.go((table.length_mm / 2 + 60, table.width_mm / 2), 1.0, 0)
        script = Script([path], [thrower.flat()])
        return TableSensors(rng, table, rightward=rightward, rails_heard=True).sense(script)

    def roll(self, _what: str, now_us: int) -> Feed:
        """Throw both dice, as a shooter does."""
        if self._dice_table is None:
            return []
        rng = self._table.rng
        script = valid(Thrower(rng, self._dice_table, now_us, rightward=True))
        script.collected_us = None
        script.extra.clear()
        return TableSensors(rng, self._dice_table, rightward=True, rails_heard=False).sense(script)

    def knock(self, wall: str, now_us: int) -> Feed:
        """Knock on the rail next to a wall's sensor."""
        return self._impact(wall, now_us, self._table.rng.uniform(180, 450))

    def quiet(self, wall: str, now_us: int) -> Feed:
        """Leave the table untouched while the sensor detects background noise."""
        rng = self._table.rng
        return [
            item for n in range(5) for item in self._impact(wall, now_us + n * 150_000, rng.uniform(4, 24))
        ]

    def _impact(self, wall: str, now_us: int, peak: float) -> Feed:
        names: Mapping[str, Wall] = {"left": "left", "right": "right", "front": "front", "back": "back"}
        if wall not in names:
            return []
        heard = WallImpact(
            t=now_us,
            dev=f"wall-{wall}",
            wall=names[wall],
            pos_mm=float(round(self._table.rng.uniform(100, 900))),
            peak=float(round(peak)),
        )
        return [(now_us + 2000, heard)]

    def put(self, where: str, now_us: int) -> Feed:
        """Place one die on the felt with 6 up, at `X_Y` in millimetres or at a default position."""
        if self._dice_table is None:
            return []
        rng = self._table.rng
        try:
            x_mm, y_mm = (float(part) for part in where.split("_"))
        except ValueError:
            x_mm, y_mm = self._dice_table.length_mm / 3, self._dice_table.width_mm / 3
        at_rest = DieRest(
            t=now_us,
            dev=CAMERA,
            die=1,
            x=round(x_mm + rng.gauss(0, PLACEMENT_NOISE_MM), 2),
            y=round(y_mm + rng.gauss(0, PLACEMENT_NOISE_MM), 2),
            up=6,
            confidence=0.97,
            tilt_deg=0.4,
            on="felt",
        )
        return [(now_us + 50_000, at_rest)]

    def spin(self, _what: str, now_us: int) -> Feed:
        """Spin the ball by hand against the rotor, and remove the ball soon after it comes to rest."""
        return self._turn_rotor(now_us, turns=self._table.rng.uniform(8.0, 11.0), pocket=0, seen=None)

    def rotor(self, _what: str, now_us: int) -> Feed:
        """Turn the rotor by hand."""
        return self._turn_rotor(now_us, turns=9.0, pocket=0, seen=(RotorIndex,))

    def pocket(self, number: str, now_us: int) -> Feed:
        """Turn the rotor by hand with the ball in a pocket."""
        pockets = () if self._wheel is None else self._wheel.pockets_clockwise
        if number not in pockets:
            return []
        return self._turn_rotor(
            now_us, turns=5.0, pocket=pockets.index(number), seen=(RotorIndex, PocketBall), settle_s_after=0.2
        )

    def game(self, _what: str, now_us: int) -> Feed:
        """Play one game on each smart wheel; the launch follows within a few seconds."""
        rng = self._table.rng
        for cable in self._table.cables.values():
            if isinstance(cable.peer, Ss2Wheel):
                number = str(rng.randint(1, 36))
                cable.peer.play(Game(rng, now_us - BETS_PLACED_US, number, (number,)).changes)
        return []

    def _turn_rotor(
        self,
        now_us: int,
        *,
        turns: float,
        pocket: int,
        seen: tuple[type[AnyReading], ...] | None,
        settle_s_after: float | None = None,
    ) -> Feed:
        if self._wheel is None:
            return []
        rng, start_s = self._table.rng, now_us / 1e6
        law = LossLaw(friction=rng.uniform(0.05, 0.06), drag=rng.uniform(0.02, 0.028))
        bowl = Bowl(drop_speed=self._wheel.drop_rev_per_s * rng.uniform(0.98, 1.02))
        speed = launch_speed(law, bowl, turns)
        ball = run(law, bowl, launch_s=start_s + 0.2, start=rng.random(), direction=1, speed=speed)
        settle_s = ball.end_s + 1.0 if settle_s_after is None else start_s + settle_s_after
        end_s = settle_s + (1.0 if settle_s_after is None else 23.0)
        rotor = Rotor(
            start_s, end_s, mark=rng.random(), speed=-ROTOR_REV_PER_S, bearing=Bearing(fraction=0.008)
        )
        fall = Fall((), settle_s, pocket / len(self._wheel.pockets_clockwise))
        play = Play([ball], rotor, fall, lift_s=end_s)
        sensed = sense(rng, self._wheel, Optics(), play, Faults()).readings
        return [
            (reading.t + rng.randint(1000, 3000), reading)
            for reading in sensed
            if seen is None or isinstance(reading, seen)
        ]

    def open(self, name: str, now_us: int) -> Feed:
        """Open and close a door, a lid or a key switch."""
        times = ((now_us, True), (now_us + 700_000, False))
        return [(t + 1000, Switch(t=t, dev=CONSOLE, name=name, open=opened)) for t, opened in times]

    def press(self, _what: str, now_us: int) -> Feed:
        """Press the console's buttons."""
        name, by = ("no_roll", "boxperson") if self._wheel is None else ("no_spin", "dealer")
        pressed = [Input(t=now_us, dev=CONSOLE, name=name, by=by)]
        pressed.append(Input(t=now_us + 500_000, dev=CONSOLE, name="lock", by=by, reason="button"))
        return [(reading.t + 1000, reading) for reading in pressed]

    def hold(self, kind: str, now_us: int) -> Feed:
        """Show a sensor the object that it must detect."""
        dev = CAMERA if self._wheel is None else WHEEL
        held: Mapping[str, AnyReading] = {
            "foreign_object": ForeignObject(t=now_us, dev=dev, where="track" if self._wheel else "felt"),
            "ball_out": BallOut(t=now_us, dev=WHEEL),
            "die_off_table": DieOffTable(t=now_us, dev=CAMERA, die=1),
            "die_contact": DieContact(t=now_us, dev=CAMERA, die=1, with_="chips"),
        }
        return [(now_us + 2000, held[kind])] if kind in held else []


_ACTIONS: Mapping[str, Callable[[Technician, str, int], Feed]] = {
    "throw": Technician.throw,
    "roll": Technician.roll,
    "knock": Technician.knock,
    "quiet": Technician.quiet,
    "put": Technician.put,
    "spin": Technician.spin,
    "rotor": Technician.rotor,
    "pocket": Technician.pocket,
    "open": Technician.open,
    "press": Technician.press,
    "game": Technician.game,
    "hold": Technician.hold,
}
