"""The doctor's look at the pictures that a dice camera keeps: how many, how old, how much of their quota."""

from collections.abc import Iterator, Mapping

from controller.evidence.folder import FOLDER, MB, Folder
from controller.settings.mistakes import SettingsError
from controller.settings.yaml_text import parse_document
from controller.technician.machine_checks import Finding, Machine

RIG = "etc/table/camera.yaml"
DAYS, MAX_MB = 90, 2000
"""Limits of a rig that names none, as its page has them."""
DAY_S = 86_400
ABOUT = "pictures"
_REMEDY = "tablectl camera evidence prune --rig /etc/table/camera.yaml"


def pictures(machine: Machine, now_s: float) -> Iterator[Finding]:
    """Check what a camera of this machine keeps; nothing where it has no rig file, or the rig keeps none."""
    rig = machine.root / RIG
    if not rig.exists():
        return
    try:
        wanted = parse_document(rig).value
    except SettingsError as error:
        yield Finding("fault", ABOUT, str(error), "tablectl camera run names the line")
        return
    keys = wanted.get("evidence") if isinstance(wanted, Mapping) else None
    if not isinstance(keys, Mapping):
        yield Finding("unchecked", ABOUT, f"/{RIG} has no `evidence`: no pictures of throws are kept")
        return
    days, max_mb = (_number(keys.get(key), usual) for key, usual in (("days", DAYS), ("max_mb", MAX_MB)))
    folder = Folder(machine.root / str(keys.get("folder", FOLDER)).removeprefix("/"))
    try:
        files = folder.kept()
    except OSError as error:
        says = f"{folder.path}: found that it can't be read ({error.strerror}); its group and root may"
        yield Finding("unchecked", ABOUT, says)
        return
    taken_mb = sum(one.size for one in files) / MB
    age_days = (now_s - files[0].wall_s) / DAY_S if files else 0.0
    says = (
        f"{folder.path}: {len(files)} files, {taken_mb:.0f} of {max_mb} MB, the oldest {age_days:.0f} of"
        f" {days} days"
    )
    over = taken_mb > max_mb or age_days > days + 1
    yield Finding("warning" if over else "ok", ABOUT, says, _REMEDY if over else "")


def _number(value: object, usual: int) -> int:
    return int(value) if isinstance(value, int | str) and str(value).isdecimal() else usual
