"""What the rules ask for behind each cause: the figure that was not met, with its unit."""

from collections.abc import Mapping

from controller.model.rulesets import DealRules, RuleSet, SpinRules, ThrowRules
from controller.rules.dice.resting import FLAT_DEG
from controller.rules.dice.wording import wall_words


def threshold(code: str, ruleset: RuleSet) -> str | None:
    """Say what a rule set asks for where this cause is given; None where it is no matter of a figure."""
    asked: Mapping[str, str] = {}
    if ruleset.throw is not None:
        asked = _of_throw(ruleset.throw)
    elif ruleset.spin is not None:
        asked = _of_spin(ruleset.spin)
    elif ruleset.deal is not None:
        asked = _of_deal(ruleset.deal)
    return asked.get(code)


def _of_throw(rules: ThrowRules) -> Mapping[str, str]:
    errors = rules.sensors
    sensors = (
        f"a track point errs by {errors.track_noise_mm:g} mm, an impact's place by"
        f" {errors.impact_position_mm:g} mm, and it is heard {errors.impact_delay_ms[0]:g} to"
        f" {errors.impact_delay_ms[1]:g} ms after the hit"
    )
    settled = f"both dice seen at rest within {rules.settle_timeout_s:g} s of the release"
    together = rules.simultaneous_ms if rules.parted == "no_roll" else rules.stagger_notice_ms
    watched = f"never out of sight for more than {rules.unwatched_ms:g} ms"
    return {
        "not_simultaneous": f"releases at most {together:g} ms apart",
        "no_wall_hit": f"{wall_words(rules)}; {sensors}",
        "wall_unclear": f"{wall_words(rules)}; {sensors}",
        "low_confidence": f"a face read with a confidence of {rules.min_confidence:g} or more",
        "cocked": f"at most one side resting on something; flat is a tilt of up to {FLAT_DEG:g} degrees",
        "missing_reading": f"{settled}, {watched}",
        "unwatched": watched,
        "one_die_thrown": settled,
    }


def _of_spin(rules: SpinRules) -> Mapping[str, str]:
    reads = f"{rules.pocket_reads} agreeing pocket reads on as many turns of the rotor"
    revolutions = f"{rules.min_revolutions:g} full revolutions in the track, for certain"
    return {
        "same_direction": "the ball runs against the rotor",
        "too_few_revolutions": revolutions,
        "revolutions_unclear": revolutions,
        "missing_reading": reads,
        "conflict": reads,
        "ball_out": f"a pocket read within {rules.turns_without_read} turns of the rotor after the drop",
        "late_close": f"bets closed before the drop, {rules.no_more_bets_lead_s:g} s before it",
    }


def _of_deal(rules: DealRules) -> Mapping[str, str]:
    return {
        "wrong_count": f"three cards for each seat and the dealer within {rules.deal_timeout_s:g} s",
        "card_twice": "no card of the deck twice",
        "shoe_opened": "the shoe closed from the first card on",
    }
