"""Tests of the simulation, and of whole simulated evenings against their truth."""
