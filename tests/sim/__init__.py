"""Tests of the simulation, and of whole simulated sessions against their ground truth."""
