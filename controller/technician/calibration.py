"""What every calibration gives: figures for people, the values to write, or the reason why there are none."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.model.keys import KeyPath, Setting


class UnfitError(ValueError):
    """Readings from which nothing can be calibrated; the message says what was found and what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """Values by their place in the table's file, and what they rest on, a line each."""

    values: Mapping[KeyPath, Setting]
    report: tuple[str, ...]
    figures: Mapping[str, object] = field(default_factory=dict)
