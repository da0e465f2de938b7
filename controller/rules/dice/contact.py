"""What the dice touched on their way (C34-INV-3, !34-12, H-LEGAL-3, !H-14)."""

from controller.model.rulesets import ThrowRules
from controller.rules.dice.findings import Findings
from controller.rules.dice.resting import judge_loose_chips
from controller.rules.dice.scene import Scene

HARMLESS = frozenset({"felt", "card", "cards", "die", "dice", "wall", "left", "right", "front", "back"})
"""What a die may touch anywhere: the playing surface, the other die, cards, and the walls it must hit."""
CHIPS = frozenset({"chip", "chips"})


def judge_contacts(scene: Scene, rules: ThrowRules, found: Findings) -> None:
    """Judge what each die touched, once for each thing."""
    for die in scene.dice:
        told: set[str] = set()
        for contact in die.contacts:
            thing = contact.with_.strip().lower()
            if thing in told or thing in HARMLESS:
                continue
            told.add(thing)
            found.evidence.append(contact)
            if rules.objects == "cards_only":
                _judge_foreign(thing, die.number, rules, found)
            elif thing == "bank":
                found.note(
                    "bank_touched", f"die {die.number} touched the bank", die=die.number, rule="!34-12"
                )


def _judge_foreign(thing: str, die: int, rules: ThrowRules, found: Findings) -> None:
    if thing in CHIPS:
        judge_loose_chips(f"die {die} touched loose chips", die, rules, found)
    elif thing in {"", "unknown"}:
        found.ask("missing_reading", f"die {die} touched something that was not made out", die=die)
    else:
        found.no_roll("foreign_contact", f"die {die} touched the {thing}", die=die)
