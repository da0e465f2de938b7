"""Dice as rigid bodies: their release, their motion in a physics engine, and the sensors' readings."""
