"""Dice as rigid bodies: how they are thrown, how an engine moves them, and what sensors observe."""
