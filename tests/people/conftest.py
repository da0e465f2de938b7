"""Hashes at minimal cost: the tests check how they are kept and compared."""

import pytest


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash at the lowest cost that scrypt has."""
    monkeypatch.setattr("controller.people.register._N", 2)
