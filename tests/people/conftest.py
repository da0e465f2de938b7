"""Hashes of next to no cost: what is tested is what they are kept and compared for."""

import pytest


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash at the least cost that scrypt has."""
    monkeypatch.setattr("controller.people.register._N", 2)
