"""Recorded sensor logs: read, write, replay them, and compare what they give with what they must."""
