"""What a table learns of its wheel from spin to spin. It is part of the recorded state."""

from collections.abc import Mapping
from typing import Self

import msgspec

from controller.model.conversion import converter_of
from controller.rules.wheel.slowing import SPEEDS, Slowing

NOMINAL_SPREAD = 0.06
"""One standard deviation between a wheel's nominal drop speed and one spin's, as a share of it."""
SPIN_SPREAD = 0.03
"""One standard deviation of a spin's drop speed around its wheel's mean, as a share of it."""
_TRUST_AGAIN_BALLS = 20.0
"""A reader that missed a ball is trusted again after it has read this many balls on every turn."""
_NEWEST = 0.15
"""The least weight of a spin in the losses of speed: a track that was wiped or became damp is learned in a
few."""
_MEMORY_SPINS = 40.0
"""A wheel drifts with temperature and wear, so older spins count for less."""


class Learned(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What earlier spins taught of a wheel: figures only, so that JSON keeps them unchanged.

    `spins` is the weight of what was learned, `drop_rev_per_s` the ball's mean speed when it leaves the track
    (None before the first spin), `deceleration_rev_per_s2` its loss per second at that speed,
    `losses_rev_per_s2` its loss per second at those of `slowing.SPEEDS` that spins have passed, by speed in
    rev/s, `left_s` how many seconds before its drop it has each of them, `pocket_reader_works` 1 if the last
    ball that should have been read was, `pocket_reader_doubts` how many balls must be read on every turn
    before a reader that missed one is trusted again.
    """

    spins: float = 0.0
    drop_rev_per_s: float | None = None
    deceleration_rev_per_s2: float | None = None
    losses_rev_per_s2: Mapping[float, float] = msgspec.field(default_factory=dict)
    left_s: Mapping[float, float] = msgspec.field(default_factory=dict)
    pocket_reader_works: float = 0.0
    pocket_reader_doubts: float = 0.0

    @property
    def pocket_reader_known(self) -> bool:
        """Whether the pocket reader is known to work: it saw the last ball, and has not missed one lately."""
        return self.pocket_reader_works > 0.0 and self.pocket_reader_doubts <= 0.0

    def drop_speed(self, nominal_rev_per_s: float) -> tuple[float, float]:
        """Return the expected drop speed and its standard deviation, both in rev/s."""
        if self.drop_rev_per_s is None:
            return nominal_rev_per_s, NOMINAL_SPREAD * nominal_rev_per_s
        prior = (SPIN_SPREAD / NOMINAL_SPREAD) ** 2
        mean = (prior * nominal_rev_per_s + self.spins * self.drop_rev_per_s) / (prior + self.spins)
        return mean, SPIN_SPREAD * mean * (1.0 + 1.0 / (prior + self.spins)) ** 0.5

    def slowing(self) -> Slowing:
        """Return how this wheel's balls slow down, as far as it is known."""
        losses = self.losses_rev_per_s2
        if not losses and self.deceleration_rev_per_s2 and self.drop_rev_per_s:
            losses = {self.drop_rev_per_s: self.deceleration_rev_per_s2}
        return Slowing(losses, self.left_s)

    def after_drop(
        self,
        speed_rev_per_s: float,
        deceleration_rev_per_s2: float,
        losses: Mapping[float, float],
        left_s: Mapping[float, float],
    ) -> Self:
        """Learn from one ball that was followed to its drop.

        `losses` and `left_s` are by speed, as `slowing.measured` and `slowing.timed` return them.
        """
        weight = 1.0 / (min(self.spins, _MEMORY_SPINS) + 1.0)
        newest = max(weight, _NEWEST)
        return msgspec.structs.replace(
            self,
            spins=min(self.spins, _MEMORY_SPINS) + 1.0,
            drop_rev_per_s=_towards(self.drop_rev_per_s, speed_rev_per_s, weight),
            deceleration_rev_per_s2=_towards(self.deceleration_rev_per_s2, deceleration_rev_per_s2, weight),
            losses_rev_per_s2=_all_towards(self.losses_rev_per_s2, losses, newest),
            left_s=_all_towards(self.left_s, left_s, newest),
        )

    def after_reads(self, *, missed: bool) -> Self:
        """Note that the pocket reader saw the ball, and whether it missed it on a turn between."""
        doubts = _TRUST_AGAIN_BALLS if missed else max(self.pocket_reader_doubts - 1.0, 0.0)
        return msgspec.structs.replace(self, pocket_reader_works=1.0, pocket_reader_doubts=doubts)

    def after_silence(self) -> Self:
        """Note that the pocket reader did not see a ball that had dropped.

        It is no longer known to work: one missed ball is plausible, two in a row mean a dead reader.
        """
        return msgspec.structs.replace(self, pocket_reader_works=0.0)

    def figures(self) -> dict[str, float]:
        """Return what was learned as the numbers of a recording's `state`."""
        figures = {name: value for name in _PLAIN if (value := getattr(self, name)) is not None}
        for name, begins in _BY_SPEED.items():
            known = getattr(self, name)
            figures |= {key: known[at] for at, key in _KEYS[begins].items() if at in known}
        return figures

    @staticmethod
    def from_figures(figures: Mapping[str, float]) -> "Learned":
        """Restore what `figures` returned; raises `msgspec.ValidationError` on anything else.

        A recording from before a figure was learned by speed lacks it: it is learned again in a few spins.
        """
        plain = {name: value for name, value in figures.items() if not name.startswith(_BEGINNINGS)}
        by_speed = {
            name: {at: figures[key] for at, key in _KEYS[begins].items() if key in figures}
            for name, begins in _BY_SPEED.items()
        }
        return msgspec.structs.replace(_learned_of(plain), **by_speed)


_BY_SPEED = {"losses_rev_per_s2": "loss_at_", "left_s": "left_at_"}
_BEGINNINGS = tuple(_BY_SPEED.values())
_KEYS = {begins: {at: f"{begins}{at:g}" for at in SPEEDS} for begins in _BEGINNINGS}
_PLAIN = tuple(name for name in Learned.__struct_fields__ if name not in _BY_SPEED)
_learned_of = converter_of(Learned)


def _all_towards(
    known: Mapping[float, float], newest: Mapping[float, float], weight: float
) -> dict[float, float]:
    means = dict(known)
    for at, value in newest.items():
        means[at] = _towards(means.get(at), value, weight)
    return means


def _towards(mean: float | None, value: float, weight: float) -> float:
    return value if mean is None else mean + weight * (value - mean)
