"""Feed the readings of a simulated session to an engine session."""

import msgspec

from controller.engine.session import Session
from controller.machines.setup import Setup
from controller.model.outcomes import Outcome
from controller.settings.rulesets import load_ruleset
from drivers.sim.scenes import Feed, Header


def outcomes_of(header: Header, feed: Feed, *, arrivals: bool, cut: bool = False) -> list[Outcome]:
    """Return every outcome of a feed. With `arrivals`, readings carry their time of arrival."""
    session = Session(
        Setup(
            table=header.table,
            ruleset=load_ruleset(header.ruleset),
            dice_table=header.dice_table or None,
            wheel=header.wheel or None,
        )
    )
    published: list[Outcome] = []
    for arrived_us, reading in feed:
        known = msgspec.structs.replace(reading, arrived=arrived_us) if arrivals else reading
        published += [effect for effect in session.feed(known) if isinstance(effect, Outcome)]
    published += [effect for effect in session.finish(cut=cut) if isinstance(effect, Outcome)]
    return published
