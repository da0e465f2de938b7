"""A release's signed list of files: creation, verification, comparison with an installation."""

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from controller.app import keys
from controller.app.release import LIST_FILE, ReleaseFault, place_of, sign, trusted_keys, verify
from controller.cli.main import main
from controller.technician.machine_checks import release
from tests.app.house import HouseMaker

FILES = {
    "controller/__init__.py": b"",
    "controller/games/craps.py": b"POINT = 4\n",
    "drivers/__init__.py": b"",
    "config/rulesets/craps.yaml": b"name: craps\n",
    "systemd/table.service": b"[Unit]\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    for name, data in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@pytest.fixture
def key(tmp_path: Path) -> Path:
    keys.make("release", tmp_path / "release.key")
    return tmp_path / "release.key"


def signed(folder: Path, key: Path) -> Path:
    (folder / LIST_FILE).write_bytes(sign(place_of(folder), key))
    return folder


def trusted(key: Path) -> frozenset[str]:
    return trusted_keys(key.with_suffix(".pub"))


def installed(checkout: Path, to: Path) -> Path:
    """Copy a checkout in the layout of an installation, with a separate folder for the packages."""
    packages = to / "lib" / "python3.13" / "site-packages"
    for name in ("controller", "drivers"):
        shutil.copytree(checkout / name, packages / name)
    shutil.copytree(checkout / "config", packages / "controller" / "_config")
    shutil.copytree(checkout / "systemd", to / "systemd")
    shutil.copy(checkout / LIST_FILE, to / LIST_FILE)
    return to


def test_an_invalid_release_key_is_reported_with_its_line(key: Path, tmp_path: Path) -> None:
    valid = key.with_suffix(".pub").read_text().strip()
    file = tmp_path / "release.pub"
    file.write_text(f"{valid} {valid.upper()}\n\n# old key\n")
    with pytest.raises(ReleaseFault, match=r"release\.pub, line 3: found no public key"):
        trusted_keys(file)
    file.write_text(f"{valid}\n\n{valid.upper()}\n")
    assert trusted_keys(file) == {valid}


def test_an_installation_verifies_against_the_list_signed_where_it_was_built(
    checkout: Path, key: Path, tmp_path: Path
) -> None:
    signed(checkout, key)
    assert len(verify(place_of(checkout), trusted(key)).files) == len(FILES)
    there = installed(checkout, tmp_path / "release")
    verified = verify(place_of(there), trusted(key))
    assert "controller/_config/rulesets/craps.yaml" in verified.files
    (there / "lib/python3.13/site-packages/controller/__pycache__").mkdir()
    (there / "lib/python3.13/site-packages/controller/__pycache__/x.pyc").write_bytes(b"\0")
    assert verify(place_of(there), trusted(key)) == verified, "compiled copies are not on the list"


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize("way", ["changed", "missing"])
def test_every_file_that_differs_is_named(name: str, way: str, checkout: Path, key: Path) -> None:
    signed(checkout, key)
    if way == "changed":
        (checkout / name).write_bytes(b"# another\n")
    else:
        (checkout / name).unlink()
        if name == "controller/__init__.py":
            assert (checkout / "controller").is_dir()
    shown = name.replace("config/", "controller/_config/")
    with pytest.raises(ReleaseFault, match=f"{way}: {shown}"):
        verify(place_of(checkout), trusted(key))


@pytest.mark.parametrize("name", ["controller/yaml.py", "drivers/x.so", "systemd/x.service", "config/x.yaml"])
def test_a_file_missing_from_the_signed_list_is_named(name: str, checkout: Path, key: Path) -> None:
    signed(checkout, key)
    (checkout / name).write_bytes(b"")
    with pytest.raises(ReleaseFault, match="not on its list: "):
        verify(place_of(checkout), trusted(key))


@pytest.mark.parametrize("to", ["a file", "a folder", "nothing"])
@pytest.mark.parametrize("name", ["controller/more", "controller/games/craps.py"])
def test_a_symbolic_link_is_not_a_file_of_a_release(
    name: str, to: str, checkout: Path, key: Path, tmp_path: Path
) -> None:
    """The target of a link may change later, even if its bytes match now."""
    signed(checkout, key)
    elsewhere = tmp_path / "elsewhere"
    if to == "a folder":
        elsewhere.mkdir()
        (elsewhere / "__init__.py").write_bytes(b"")
    elif to == "a file":
        elsewhere.write_bytes(FILES["controller/games/craps.py"])
    (checkout / name).unlink(missing_ok=True)
    (checkout / name).symlink_to(elsewhere)
    with pytest.raises(ReleaseFault, match=f"(changed|not on its list): {name}"):
        verify(place_of(checkout), trusted(key))


def test_a_change_to_any_bit_of_the_list_is_found(checkout: Path, key: Path) -> None:
    signed(checkout, key)
    file = checkout / LIST_FILE
    whole = file.read_bytes()
    for at in range(0, len(whole), 37):
        file.write_bytes(bytes([*whole[:at], whole[at] ^ 1, *whole[at + 1 :]]))
        with pytest.raises(ReleaseFault):
            verify(place_of(checkout), trusted(key))
    for found in (b"", b"{}", b"[]", whole[: len(whole) // 2], whole + whole, b"[" * 100_000):
        file.write_bytes(found)
        with pytest.raises(ReleaseFault, match=r"is not a signed list of files"):
            verify(place_of(checkout), trusted(key))
    file.unlink()
    with pytest.raises(ReleaseFault, match="the release's signed list of files is missing"):
        verify(place_of(checkout), trusted(key))


def test_a_signature_by_an_unknown_key_is_named(checkout: Path, key: Path, tmp_path: Path) -> None:
    keys.make("release", tmp_path / "strange.key")
    signed(checkout, tmp_path / "strange.key")
    with pytest.raises(ReleaseFault, match=f"expected one by {next(iter(trusted(key)))[:16]}"):
        verify(place_of(checkout), trusted(key))


def test_a_rotated_key_is_trusted_by_way_of_an_earlier_one_and_old_releases_still_verify(
    checkout: Path, key: Path, tmp_path: Path
) -> None:
    first = trusted(key)
    old = shutil.copytree(signed(checkout, key), tmp_path / "old")
    for _ in range(2):
        keys.rotate("release", key, who="ann", reason="yearly")
    signed(checkout, key)
    assert verify(place_of(checkout), first).key == next(iter(trusted(key)))
    assert verify(place_of(old), first), "the previous release, to which a machine may return"
    with pytest.raises(ReleaseFault):
        verify(place_of(old), trusted(key))


@pytest.mark.parametrize("way", ["lost", "left out", "forged"])
def test_a_rotation_that_no_trusted_key_signed_is_refused(way: str, checkout: Path, key: Path) -> None:
    first = trusted(key)
    if way == "lost":
        key.unlink()
    keys.rotate("release", key, lost=way == "lost", who="ann", reason="yearly")
    history = key.with_name(f"{key.name}.history.jsonl")
    signed(checkout, key)
    if way == "left out":
        keys.rotate("release", key, who="ann", reason="yearly")
        steps = history.read_bytes().splitlines(keepends=True)
        history.write_bytes(steps[1])
        signed(checkout, key)
    if way == "forged":
        (step,) = keys.history("release", key)
        strange = msgspec.structs.replace(step, signature="0" * 128)
        assert not keys.follows([strange], step.old, step.new)
        return
    with pytest.raises(ReleaseFault, match="expected one by"):
        verify(place_of(checkout), first)


def test_a_revoked_key_signs_no_release(checkout: Path, key: Path) -> None:
    stolen = key.read_bytes()
    keys.revoke("release", key, who="ann", reason="yearly")
    key.write_bytes(stolen)
    key.chmod(0o600)
    with pytest.raises(ReleaseFault, match=r"none \(it was revoked\)"):
        sign(place_of(checkout), key)


def test_the_command_signs_and_verifies_and_says_what_differs(
    checkout: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of, public = ("--of", str(checkout)), str(key.with_suffix(".pub"))
    assert main(["release", "verify", *of, "--key", public]) == 1
    assert main(["release", "sign", *of, "--key", str(key)]) == 0
    assert main(["release", "verify", *of, "--key", public]) == 0
    (checkout / "drivers/__init__.py").write_bytes(b"1")
    assert main(["release", "verify", *of, "--key", public]) == 1
    assert "changed: drivers/__init__.py" in capsys.readouterr().err
    assert main(["release", "verify", *of, "--key", str(key)]) == 2
    assert "line 1: found no public key, expected 64 hexadecimal digits" in capsys.readouterr().err
    assert main(["release", "verify", "--of", str(checkout / "drivers"), "--key", public]) == 2
    assert main(["release", "verify", *of, "--key", str(checkout / "none")]) == 2
    assert main(["release", "sign", *of, "--key", public]) == 2


def test_a_list_that_cannot_be_written_is_reported_without_advice_about_the_key(
    checkout: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place_of(checkout).list_file.mkdir()
    assert main(["release", "sign", "--of", str(checkout), "--key", str(key)]) == 2
    said = capsys.readouterr().err
    assert "release.json cannot be written" in said
    assert "--key" not in said


def test_the_doctor_reports_it(tmp_path: Path, key: Path) -> None:
    assert release(tmp_path / "none").state == "unchecked"
    found = release(key.with_suffix(".pub"))
    assert (found.state, LIST_FILE in found.says) == ("fault", True), "this checkout is not a signed release"


def test_a_table_that_trusts_a_release_key_locks_on_a_program_that_the_key_did_not_sign(
    house: HouseMaker, key: Path
) -> None:
    one = house(release_key=key.with_suffix(".pub"))
    daemon = one.open()
    (fault,) = (fault for fault in daemon.faults.locking if fault.code == "release_unverified")
    assert LIST_FILE in fault.found


def test_a_table_whose_program_is_as_signed_is_not_locked(
    house: HouseMaker, checkout: Path, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(signed(checkout, key))
    monkeypatch.setattr("controller.app.release.place_of", lambda: place)
    daemon = house(release_key=key.with_suffix(".pub")).open()
    assert "release_unverified" not in [fault.code for fault in daemon.faults.present]


def test_a_table_without_a_release_key_is_not_locked(house: HouseMaker, tmp_path: Path) -> None:
    daemon = house(release_key=tmp_path / "none.pub").open()
    assert "release_unverified" not in [fault.code for fault in daemon.faults.present]


def test_the_program_of_this_process_is_found() -> None:
    place = place_of()
    assert (place.packages / "controller" / "app" / "release.py").exists()
    names = [name for name, _ in place.files()]
    assert "controller/app/release.py" in names
    assert any(name.startswith("controller/_config/rulesets/") for name in names)
    assert not any("__pycache__" in name for name in names)
    done = subprocess.run([sys.executable, "-c", "import controller.app.release"], check=False)
    assert done.returncode == 0
