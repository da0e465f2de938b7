"""Fixtures: hashes of minimal cost, because the tests only check their storage and comparison."""

import pytest


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.people.register._N", 2)
