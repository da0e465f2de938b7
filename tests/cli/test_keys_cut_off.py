"""Commands that change keys: killed at every write, run in parallel, and run after a kill or a power cut."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from controller.app import keys
from controller.app.keys import Kind
from controller.cli.main import main
from controller.journal.keys import load_key, locked_folder
from controller.publish.events import is_endorsed
from controller.settlement_service.key import engine_key
from tests.journal.rig import Rig, begin, durable, rig_in

FILE = "a.key"
REASON = ("--reason", "yearly", "--who", "ann")
FILE_KINDS: tuple[Kind, ...] = ("console", "release", "node")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["keys", *words])
    heard = capsys.readouterr()
    return code, heard.out.strip(), heard.err


def killed_at_each_write(template: Path, copies: Path, *words: str) -> list[Path]:
    """Return a folder for each write at which the command was killed, and last a complete one."""
    copies.mkdir()
    program = [sys.executable, "-m", "tests.cli.cut_off", str(template), str(copies), "keys", *words]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    folders = sorted(copies.iterdir(), key=lambda folder: int(folder.name))[1:]
    assert len(folders) > 4, "too few writes were found"
    return folders


@pytest.fixture
def template(tmp_path: Path) -> Path:
    folder = tmp_path / "template"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_rotation_killed_at_any_write_is_completed_when_repeated(
    kind: Kind, template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = keys.make(kind, template / FILE)
    for folder in killed_at_each_write(template, tmp_path / "copies", "rotate", kind, FILE, *REASON):
        file = folder / FILE
        before = keys.public_of(kind, file)
        code, _, err = printed(capsys, "rotate", kind, str(file), *REASON)
        assert code == 0, err
        steps = keys.history(kind, file)
        assert (steps[0].old, steps[-1].new) == (first, keys.public_of(kind, file))
        assert len(steps) == (1 if before == first else 2), (
            "the interrupted rotation must continue without another key"
        )
        published = {path.name: path.read_text(encoding="ascii") for path in folder.glob("*.pub")}
        assert published == ({} if kind == "node" else {"a.pub": keys.public_of(kind, file)})
        assert sorted(path.name for path in folder.iterdir()) == [FILE, f"{FILE}.history.jsonl", *published]


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_revocation_killed_at_any_write_is_completed_when_repeated(
    kind: Kind, template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys.make(kind, template / FILE)
    *cut_off, whole = killed_at_each_write(template, tmp_path / "copies", "revoke", kind, FILE, *REASON)
    for folder in cut_off:
        file = folder / FILE
        if file.exists():
            code, _, err = printed(capsys, "revoke", kind, str(file), *REASON)
            assert code == 0, err
        assert not file.exists()
        assert [step.new for step in keys.history(kind, file)] == [""]
    assert not (whole / FILE).exists()


def test_an_engines_rotation_killed_at_any_write_leaves_one_of_the_two_keys_and_can_be_completed(
    template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An engine that starts meanwhile must get a key that its tables trust, never a third key."""
    first = engine_key(template / FILE, {})
    for folder in killed_at_each_write(template, tmp_path / "copies", "rotate", "engine", FILE, *REASON):
        file = folder / FILE
        started = engine_key(file, {})
        if started.public == first.public:
            assert started.endorsed is None, "no other key's endorsement may be shown with it"
            code, second, err = printed(capsys, "rotate", "engine", str(file), *REASON)
            assert code == 0, err
            started = engine_key(file, {})
            assert started.public == second
        assert started.endorsed is not None
        assert is_endorsed(started.public, started.endorsed, first.key.public)
        assert not file.with_suffix(".new").exists()


def test_a_tables_rotation_killed_at_any_write_can_be_completed_and_old_outcomes_verify(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = tmp_path / "template"
    template.mkdir()
    rig = rig_in(template)
    rig.played(2)
    journal, head = rig.place.journal.relative_to(template), rig.place.head.relative_to(template)
    where = ("--journal", str(journal), "--head", str(head))
    old = rig.key.public.raw.hex()
    words = ("rotate", "table", "key", *where, *REASON)
    for folder in killed_at_each_write(template, tmp_path / "copies", *words):
        before = load_key(folder / "key").public.raw.hex()
        of = ("--journal", str(folder / journal), "--head", str(folder / head))
        if before == old:
            code, _, err = printed(capsys, "rotate", "table", str(folder / "key"), *of, *REASON)
            assert code == 0, err
        new = load_key(folder / "key")
        assert main(["journal", "verify", *of, "--key", new.public.raw.hex()]) == 0
        with Rig(folder, new).open() as opened:
            durable(begin(opened))
        assert not (folder / "key.new").exists()


@pytest.mark.parametrize(
    ("kind", "does"),
    [*((kind, does) for kind in FILE_KINDS for does in ("rotate", "revoke")), ("engine", "rotate")],
)
def test_of_two_commands_at_once_one_is_refused_with_a_message(
    kind: str, does: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / FILE
    assert printed(capsys, "make", kind, str(file))[0] == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with locked_folder(tmp_path):
        code, out, err = printed(capsys, does, kind, str(file), *REASON)
    assert (code, out) == (1, "")
    assert "changing keys" in err
    assert "repeat this command when that one has finished" in err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert printed(capsys, does, kind, str(file), *REASON)[0] == 0


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_history_line_cut_off_by_a_power_failure_is_dropped_and_the_history_continues(
    kind: Kind, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / FILE
    keys.make(kind, file)
    keys.rotate(kind, file, who="ann", reason="yearly")
    history = tmp_path / f"{FILE}.history.jsonl"
    history.write_bytes(history.read_bytes() + b'{"kind":"con')
    assert printed(capsys, "rotate", kind, str(file), *REASON)[0] == 0
    assert len(keys.history(kind, file)) == 2


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_restored_old_key_is_reported_and_changes_nothing(
    kind: Kind, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A step that does not follow its predecessor would damage the history permanently."""
    file = tmp_path / FILE
    keys.make(kind, file)
    old = file.read_bytes()
    second = keys.rotate(kind, file, who="ann", reason="yearly").new
    file.write_bytes(old)
    for does in ("rotate", "revoke"):
        code, out, err = printed(capsys, does, kind, str(file), *REASON)
        assert (code, out) == (1, "")
        assert f"expected its replacement {second[:16]}" in err
    file.unlink()
    assert printed(capsys, "replace", kind, str(file), *REASON)[0] == 0
    assert len(keys.history(kind, file)) == 2


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_restored_revoked_key_cannot_be_rotated(
    kind: Kind, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / FILE
    keys.make(kind, file)
    stolen = file.read_bytes()
    keys.revoke(kind, file, who="ann", reason="sold")
    file.write_bytes(stolen)
    file.chmod(0o600)
    code, out, err = printed(capsys, "rotate", kind, str(file), *REASON)
    assert (code, out) == (1, "")
    assert "ann revoked key" in err
    assert "(sold)" in err


@pytest.mark.parametrize("link", ["symbolic", "hard"])
@pytest.mark.parametrize("name", [f"{FILE}.history.jsonl", "a.pub.new", "a.pub", f"{FILE}.new"])
@pytest.mark.parametrize("does", ["rotate", "revoke", "replace"])
def test_no_link_in_a_services_folder_is_written_through(
    does: str, name: str, link: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Root writes there, so a link would allow the service to overwrite any file."""
    folder, other = tmp_path / "service", tmp_path / "other"
    folder.mkdir()
    other.write_bytes(b"root's own")
    other.chmod(0o600)
    file = folder / FILE
    assert printed(capsys, "make", "console", str(file))[0] == 0
    if does == "replace":
        file.unlink()
    (folder / name).unlink(missing_ok=True)
    if link == "hard":
        os.link(other, folder / name)
    else:
        (folder / name).symlink_to(other)
    if os.geteuid() == 0:
        os.chown(folder, 1234, 1235)
    before = (other.stat().st_uid, other.stat().st_mode, other.read_bytes())
    code, _, err = printed(capsys, does, "console", str(file), *REASON)
    assert code == 0 or "found" in err
    assert (other.stat().st_uid, other.stat().st_mode, other.read_bytes()) == before


@pytest.mark.parametrize("found", [b"", b"\xff\xfe", b"no signature", b"00 11", b"zz zz zz"])
def test_an_invalid_endorsement_stops_no_engine(found: bytes, tmp_path: Path) -> None:
    """Tables that have the engine's key need no endorsement. At other tables a person enters it."""
    file = tmp_path / FILE
    public = engine_key(file, {}).public
    file.with_suffix(".endorsed").write_bytes(found)
    assert engine_key(file, {}).public == public


def test_a_partial_key_left_by_a_kill_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Some file systems show a file before its contents are complete."""
    rig = rig_in(tmp_path)
    rig.played(1)
    half = tmp_path / "key.new"
    half.write_bytes(b"")
    half.chmod(0o600)
    where = ("--journal", str(rig.place.journal), "--head", str(rig.place.head))
    code, _, err = printed(capsys, "rotate", "table", str(tmp_path / "key"), *where, *REASON)
    assert code == 0, err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root writes keys for others")
def test_a_key_rotated_by_root_stays_readable_by_its_service(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The service reads its key at the next start."""
    os.chown(tmp_path, 1234, 1235)
    file = tmp_path / FILE
    for does in ("make", "rotate", "rotate"):
        reason = () if does == "make" else REASON
        assert printed(capsys, does, "console", str(file), *reason)[0] == 0
    owners = {(path.name, path.stat().st_uid, path.stat().st_gid) for path in tmp_path.iterdir()}
    assert owners == {(name, 1234, 1235) for name in (FILE, "a.pub", f"{FILE}.history.jsonl")}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root writes keys for others")
@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_a_boards_key_in_roots_folder_keeps_its_readers(
    mode: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If only root could read a key in /etc/table, the controller would refuse its next start."""
    file = tmp_path / FILE
    assert printed(capsys, "make", "node", str(file))[0] == 0
    os.chown(file, 1234 if mode == 0o600 else 0, 1235)
    file.chmod(mode)
    before = file.read_text(encoding="ascii")
    assert printed(capsys, "rotate", "node", str(file), *REASON)[0] == 0
    found = file.stat()
    assert file.read_text(encoding="ascii") != before
    assert (found.st_uid, found.st_gid) == (1234 if mode == 0o600 else 0, 1235)
    assert found.st_mode & 0o777 == mode
