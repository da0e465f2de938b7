"""Dice as rigid bodies: how they are thrown, their motion computed by an engine, and what sensors see of
it.
"""
