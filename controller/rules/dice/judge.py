"""The judge of throws, which applies every rule to one throw and returns a verdict with all its causes."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from controller.model.effects import Basis
from controller.model.geometry import DiceTable
from controller.model.readings import Reading
from controller.model.rulesets import ThrowRules
from controller.model.verdicts import Reason, Ruling, ThrowVerdict
from controller.rules.dice.findings import Findings
from controller.rules.dice.hits import WallFindings, judge_hits
from controller.rules.dice.release import judge_release
from controller.rules.dice.resting import judge_contacts, judge_rests
from controller.rules.dice.scene import NOTHING, Scene, build_scene
from controller.rules.dice.solid import judge_solid
from controller.rules.dice.unwatched import judge_unwatched
from controller.rules.dice.wording import no_roll_line, review_line, roll_line
from controller.rules.doubt import judge_with_late

NO_SOURCES: Mapping[str, Collection[str]] = {}


class Learned(NamedTuple):
    """A verdict, and the loudness of the table's walls as learned up to this throw."""

    verdict: ThrowVerdict
    figures: dict[str, float]


def judge_throw(
    readings: Sequence[Reading],
    table: DiceTable,
    rules: ThrowRules,
    *,
    decided_at_us: int,
    warnings: int = 0,
    sources: Mapping[str, Collection[str]] = NO_SOURCES,
    called: Reason | None = None,
    learned: Mapping[str, float] = NOTHING,
) -> ThrowVerdict:
    """Judge one throw from its readings up to the moment of decision.

    Args:
        readings: The throw's readings; those after `decided_at_us` are ignored.
        table: The table's geometry.
        rules: The rule set's rules for throws.
        decided_at_us: The moment of decision, in microseconds.
        warnings: The number of warnings that the shooter already has.
        sources: The kinds of reading that each device sends (`wall_impact:left` for a wall sensor). Devices
            that sent readings in this throw are added.
        called: A person's call. The verdict is then a No Roll for this cause and for those already proven.
            Walls are judged only if both dice are at rest or off the table.
        learned: The loudness of the walls, learned from earlier throws (`Learned.figures`).
    """
    basis = Basis(
        decided_at_us=decided_at_us,
        warnings=warnings,
        sources={dev: tuple(kinds) for dev, kinds in sources.items()},
        called=called,
        learned=learned,
    )
    return _judge(readings, table, rules, basis).verdict


def judge_on(readings: Sequence[Reading], table: DiceTable, rules: ThrowRules, basis: Basis) -> ThrowVerdict:
    """Judge one throw on its recorded basis, with and without the readings that arrived too late."""
    return judge_and_learn(readings, table, rules, basis).verdict


def judge_and_learn(
    readings: Sequence[Reading], table: DiceTable, rules: ThrowRules, basis: Basis
) -> Learned:
    """Judge one throw on its recorded basis, and learn from the readings that arrived in time."""
    figures: list[dict[str, float]] = []

    def judge(seen: Sequence[Reading]) -> ThrowVerdict:
        verdict, learned = _judge(seen, table, rules, basis)
        figures.append(learned)
        return verdict

    return Learned(judge_with_late(judge, readings, basis, rules.causes), figures[0])


def _judge(readings: Sequence[Reading], table: DiceTable, rules: ThrowRules, basis: Basis) -> Learned:
    called, decided_at_us = basis.called, basis.decided_at_us
    scene = build_scene(readings, table, rules.sensors, basis.sources, decided_at_us, learned=basis.learned)
    found = Findings(rules.causes)
    timed_out = decided_at_us - scene.start_us >= rules.settle_timeout_s * 1_000_000
    judge_release(scene, rules, found, over=called is None or timed_out)
    judge_contacts(scene, rules, found)
    faces = judge_rests(scene, rules, found)
    judge_solid(scene, found)
    judge_unwatched(scene, rules, found, decided_at_us=decided_at_us)
    at_rest = all(die.ended or not die.seen for die in scene.dice)
    walls = WallFindings()
    if called is None or (at_rest and all(die.seen for die in scene.dice)):
        walls = judge_hits(scene, rules, found, warnings=basis.warnings)
    _judge_implausible(scene, found)
    if called is not None:
        found.void.insert(0, called)
    peaks = [(impact.wall, impact.peak) for impact in scene.impacts]
    learned = scene.loudness.after(walls.sure, scene.errors.hit_counts_per_m_s, peaks)
    return Learned(_verdict(found, faces, walls), learned.figures())


def _judge_implausible(scene: Scene, found: Findings) -> None:
    if scene.implausible:
        dev = scene.implausible[0].dev
        found.add_review("conflict", f"{dev} reported a die far outside the table")


def _verdict(found: Findings, faces: tuple[int, int] | None, walls: WallFindings) -> ThrowVerdict:
    """Return the verdict: a proven No Roll takes precedence over a review, and a review over a roll."""
    if found.void:
        ruling, reasons, sentence = Ruling.VOID, found.void, no_roll_line(found.void)
    elif found.review or faces is None:
        ruling, reasons, sentence = Ruling.REVIEW, found.review, review_line(found.review)
    else:
        ruling, reasons, sentence = Ruling.VALID, [], roll_line(faces, walls.hit, warning=walls.warning)
    return ThrowVerdict(
        ruling=ruling,
        sentence=sentence,
        dice=faces,
        reasons=tuple(reasons),
        notices=tuple(found.notices),
        warning=walls.warning and ruling is Ruling.VALID,
        evidence=_in_order(found.evidence),
    )


def _in_order(evidence: Sequence[Reading]) -> tuple[Reading, ...]:
    """Return each reading once, in time order."""
    once = {id(reading): reading for reading in evidence}
    return tuple(sorted(once.values(), key=lambda reading: reading.t))
