"""What `tablectl` keeps from the garbage collector."""

import gc

import pytest

from controller.cli.shell import collector_paused, startup_frozen


def test_a_service_keeps_what_it_loaded_out_of_the_collectors_sight() -> None:
    """A full collection of all modules would stop its threads; what comes later is still collected."""
    loaded: list[list[int]] = [[] for _ in range(100)]
    with startup_frozen():
        assert gc.get_freeze_count() > len(loaded)
        assert not any(seen is loaded for seen in gc.get_objects())
        later: list[object] = []
        assert any(seen is later for seen in gc.get_objects())
    assert gc.get_freeze_count() == 0


def import_in_a_pause() -> None:
    """Import what is not there."""
    with collector_paused():
        assert not gc.isenabled()
        raise ImportError


@pytest.mark.parametrize("was_on", [True, False])
def test_imports_pause_the_collector_and_leave_it_as_it_was(was_on: bool) -> None:
    """Even where one fails."""
    before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()
        with pytest.raises(ImportError):
            import_in_a_pause()
        assert gc.isenabled() is was_on
    finally:
        (gc.enable if before else gc.disable)()
