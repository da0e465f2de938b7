"""The picture that belongs to an attempt: a throw's plan, a spin's chart, or a sheet of words."""

from controller.model.effects import Judged
from controller.model.verdicts import DealVerdict, SpinVerdict, ThrowVerdict
from controller.pictures.card_sheet import draw_words, hand_lines
from controller.pictures.drawing import Drawing
from controller.pictures.exhibit import Exhibit
from controller.pictures.spin_chart import draw_spin
from controller.pictures.spin_seen import SpinSeen, see_spin
from controller.pictures.throw_plan import draw_throw
from controller.pictures.throw_seen import ThrowSeen, see_throw

Seen = ThrowSeen | SpinSeen


def see(exhibit: Exhibit) -> Seen | None:
    """Lay out what the judge saw; None where there is nothing to draw to scale."""
    setup, judged = exhibit.setup, exhibit.judged
    throw, spin = setup.ruleset.throw, setup.ruleset.spin
    match judged:
        case Judged(verdict=ThrowVerdict()) if throw is not None and setup.dice_table is not None:
            return see_throw(judged, setup.dice_table, throw)
        case Judged(verdict=SpinVerdict(grade="sensors")) if spin is not None and setup.wheel is not None:
            closed_us = None if exhibit.closed is None else exhibit.closed.t
            return see_spin(judged, setup.wheel, spin, closed_us)
    return None


def draw(exhibit: Exhibit, seen: Seen | None, sentence: str, when: str, lines: list[str]) -> Drawing:
    """Draw an attempt; `sentence` is its verdict, `lines` are the words where there is nothing to scale."""
    if isinstance(seen, ThrowSeen):
        return draw_throw(exhibit, seen, sentence, when)
    if isinstance(seen, SpinSeen):
        return draw_spin(exhibit, seen, sentence, when)
    verdict = None if exhibit.judged is None else exhibit.judged.verdict
    hands = hand_lines(verdict) if isinstance(verdict, DealVerdict) else []
    return draw_words(exhibit, sentence, when, [*hands, *lines])
