"""What an SS2 wheel's frames, one after another, say of its health: each fault is told once."""

from collections.abc import Iterator
from dataclasses import dataclass

from drivers.protocol.ss2 import LAST_SPIN, Flag, State, Status, games_between

POWER_CYCLE = "power_cycle"
ROTOR_SPEED = "rotor_speed"
FASTEST_RPM_X10 = 300
"""A wheel turns at 10 to 25 rpm; more is an encoder, a drive or a setting gone wrong."""
_IN_PLAY = frozenset({State.BALL_IN_RIM, State.NO_MORE_BETS, State.WINNING_NUMBER})
_MANY_GAMES = LAST_SPIN // 2


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault's code, and what was seen and what to do in words."""

    code: str
    says: str


class GameWatch:
    """Compares each frame with the one before."""

    def __init__(self, *, state_7: bool) -> None:
        """`state_7` says that the wheel is set to report a ball that it does not find in the track."""
        self._state_7 = state_7
        self._last: Status | None = None
        self._told: set[str] = set()

    def see(self, status: Status) -> Iterator[Fault]:
        """Take the next frame; give what is wrong and was not told of this game."""
        last, self._last = self._last, status
        if last is not None and last.spin != status.spin:
            self._told.clear()
        faults = [*self._of_frame(status), *(self._of_change(last, status) if last is not None else ())]
        for fault in faults:
            if fault.code not in self._told:
                self._told.add(fault.code)
                yield fault

    def _of_frame(self, status: Status) -> Iterator[Fault]:
        if status.flags & Flag.COMPONENT_FAULT:
            yield Fault("component", "a sensor, the motor or the encoder failed (flag 4); run its self-test")
        if status.state in _IN_PLAY and not 0 < status.rotor_rpm_x10 <= FASTEST_RPM_X10:
            rpm = status.rotor_rpm_x10 / 10
            yield Fault(
                ROTOR_SPEED, f"rotor at {rpm:g} rpm in play; read parameter m back, check the encoder"
            )
        if status.state == State.BALL_NOT_DETECTED and not self._state_7:
            yield Fault("unknown_state", "state 7, which this wheel is not set to report; check parameter g")

    def _of_change(self, last: Status, status: Status) -> Iterator[Fault]:
        games = games_between(last.spin, status.spin)
        if games > _MANY_GAMES or (status.number is None and last.number is not None):
            says = f"spin number {last.spin:03} went back to {status.spin:03}: the wheel was powered off"
            yield Fault(POWER_CYCLE, says)
        elif games > 1 or (games == 1 and last.state != State.WINNING_NUMBER):
            said = f"state {last.state} of game {last.spin:03} to state {status.state} of {status.spin:03}"
            yield Fault("missed_games", f"{said}: no change to state 5 was seen; it shows {status.number}")
        if games == 0 and last.state == status.state == State.WINNING_NUMBER and last.number != status.number:
            says = f"the winning number changed from {last.number} to {status.number} while it was shown"
            yield Fault("number_changed", says)
