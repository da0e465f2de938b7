"""Tests of the simulators, and simulated sessions compared with their ground truth."""
