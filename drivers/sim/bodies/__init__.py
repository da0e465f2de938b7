"""Dice as rigid bodies: how they are thrown, what an engine makes of it, and what the sensors see."""
