"""Tests of this release with files that 0.1.0 left behind, and with 0.1.0 itself as table or engine."""
