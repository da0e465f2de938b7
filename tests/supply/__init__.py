"""Tests of the supply chain: advisories against the locks, and the bill of materials."""
