"""The judge of a throw of two dice: `judge_throw`.

The judge decides from the readings of cameras and wall sensors whether the dice hit the required walls, and
how they lie. Its modules use these terms:

- A *touch*, or *hit*, is a collision of a die with a wall.
- A *turn* is a change of a die's speed perpendicular to a wall (`motion.Turn`).
- A *contact* is a moment at which a die may have touched a wall (`contacts.Contact`).
- The *contact band* is the range of distances from a wall at which the centre of a die can be when the die
  touches that wall (`bands`).
- An *impact* is a blow that a wall sensor reported (the reading `WallImpact`).
- *Ringing* is a further, weaker impact that the sensor reports after one blow.
- A *landing* is a blow of a die on the felt, and a *thump* is its sound at a wall sensor.
- A *knock* is a blow on a wall by something other than a die, such as a person's hand.
- A die is *pushed* or *knocked back* when the other die strikes it beside a wall.
- The *names* of the dice are the numbers 1 and 2 by which the camera distinguishes them.
- A *meeting* is a moment at which the camera may have swapped the names (`meetings`).
- A *story* is one explanation of a throw (`stories`), and its *cost* is a measure of its improbability
  (`bands`).
"""

from controller.rules.dice.judge import judge_throw

__all__ = ["judge_throw"]
