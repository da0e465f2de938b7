"""An upgrade stays if the status is no worse than before. A first start is not compared."""

import json

import pytest

from systemd.compare_status import find_regressions

HEALTHY = [{"name": name, "ok": True, "says": "ok"} for name in ("journal", "devices", "switches", "faults")]


def status(*faults: str, failing: tuple[str, ...] = ()) -> str:
    """Return the status of a controller with these locking faults and these failing checks."""
    checks = [{**one, "ok": one["name"] not in failing} for one in HEALTHY]
    reported = [{"code": code, "found": "what was found", "locks": True} for code in faults]
    return json.dumps({"faults": reported, "self_test": checks})


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (status(), status("identity_changed", "self_test_waits", failing=("faults",))),
        (status("device_missing", failing=("devices",)), status("device_missing", failing=("devices",))),
        (status(), status("clock_behind")),
        (status("journal_damaged"), status()),
        ("", status("journal_damaged")),
        ("{}", status()),
    ],
)
def test_an_upgrade_that_is_no_worse_stays(before: str, now: str) -> None:
    assert list(find_regressions(before, now)) == []


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (status(), "", "does not respond"),
        ("", "", "does not respond"),
        (status(), status("journal_damaged"), "journal_damaged: what was found"),
        (status(), status(failing=("devices",)), "self-test devices"),
    ],
)
def test_an_upgrade_that_is_worse_is_reported_with_the_difference(
    before: str, now: str, expected: str
) -> None:
    (only,) = find_regressions(before, now)
    assert expected in only


def test_a_fault_that_does_not_lock_causes_no_rollback() -> None:
    now = json.dumps({"faults": [{"code": "recording_lost", "found": "1", "locks": False}]})
    assert list(find_regressions(status(), now)) == []
