"""Tests of this release with files of 0.1.0, and with 0.1.0 itself as table or engine."""
