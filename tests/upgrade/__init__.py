"""Tests of how this release treats what 0.1.0 left behind, alone and together with it."""
