"""Installing into a folder: an atomic switch to a new release, which never touches data."""

import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from controller.app import keys
from controller.app.release import LIST_FILE, place_of, sign
from systemd import closure

HERE = Path(__file__).parents[2]
SCRIPT = HERE / "systemd" / "install.sh"
LOCK = (HERE / "requirements-table.lock").read_text(encoding="utf-8")
OPT = "opt/table-controller"


def install(root: Path, what: str = "install", **given: str) -> subprocess.CompletedProcess[str]:
    """Run the script for a folder that represents a machine's root."""
    environ = {**os.environ, "DESTDIR": str(root), "PYTHON": sys.executable, **given}
    return subprocess.run([SCRIPT, what], env=environ, capture_output=True, text=True, check=False)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return a root with two complete releases, as the script leaves them; the second one is current."""
    for name in ("1-old", "2-new"):
        units = tmp_path / OPT / "releases" / name / "systemd"
        shutil.copytree(HERE / "systemd", units, ignore=shutil.ignore_patterns("__pycache__"))
        with (units / "table.service").open("a", encoding="utf-8") as unit:
            unit.write(f"# {name}\n")
        (units.parent / "complete").write_text("journal\n", encoding="ascii")
    (tmp_path / OPT / "current").symlink_to("releases/2-new")
    (tmp_path / OPT / "previous").symlink_to("releases/1-old")
    for path in ("etc/table/table.yaml", "var/lib/table/journal.db", "var/lib/table-head/journal.head"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("mine", encoding="ascii")
    return tmp_path


def unit_of(root: Path) -> str:
    return (root / "etc/systemd/system/table.service").read_text(encoding="utf-8").splitlines()[-1]


def test_a_rollback_runs_the_previous_release_with_its_own_units_and_back_again(machine: Path) -> None:
    current = machine / OPT / "current"
    done = install(machine, "rollback")
    assert (done.returncode, os.readlink(current)) == (0, "releases/1-old"), done.stderr
    assert unit_of(machine) == "# 1-old"
    assert install(machine, "rollback").returncode == 0
    assert (os.readlink(current), unit_of(machine)) == ("releases/2-new", "# 2-new")


def test_an_incomplete_release_is_no_target_of_a_rollback(machine: Path) -> None:
    (machine / OPT / "releases/1-old/complete").unlink()
    done = install(machine, "rollback")
    assert done.returncode == 2
    assert "found no earlier release" in done.stderr
    assert os.readlink(machine / OPT / "current") == "releases/2-new"


def test_a_release_is_not_its_own_predecessor(machine: Path) -> None:
    (machine / OPT / "previous").unlink()
    (machine / OPT / "previous").symlink_to("releases/2-new")
    done = install(machine, "rollback")
    assert (done.returncode, "found no earlier release" in done.stderr) == (2, True)


def test_uninstalling_keeps_settings_and_data(machine: Path) -> None:
    assert install(machine, "rollback").returncode == 0
    done = install(machine, "uninstall")
    assert done.returncode == 0, done.stderr
    left = {str(path.relative_to(machine)) for path in machine.rglob("*") if path.is_file()}
    mine = {"etc/table/table.yaml", "var/lib/table/journal.db", "var/lib/table-head/journal.head"}
    assert left == mine


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"PYTHON": "/no/python"}, "is not Python 3.11 or newer"),
        ({"WHEELHOUSE": "/no/wheels"}, "there is no folder /no/wheels"),
        ({"TABLE": "no-such"}, "correct TABLE="),
    ],
)
def test_mistakes_are_reported_before_anything_is_installed(
    given: dict[str, str], expected: str, tmp_path: Path
) -> None:
    done = install(tmp_path, **given)
    assert done.returncode == 2
    assert expected in done.stderr
    assert list(tmp_path.iterdir()) == []


STUB = """#!/bin/sh
# Stands for Python and for each environment made with it: what pip is asked for is written down.
case "$*" in
"-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && echo "#!$3/bin/python" >"$3/bin/tablectl" ;;
*" wheel "*) while [ "$1" != --wheel-dir ]; do shift; done; touch "$2/table_controller-9-py3-none-any.whl" ;;
*pip*) echo "$*" >>"$PIP_LOG" ;;
*) exec {python} "$@" ;;
esac
"""


def test_this_checkout_is_installed_whatever_is_in_the_wheelhouse(tmp_path: Path) -> None:
    wheels, stub, asked = tmp_path / "wheels", tmp_path / "python", tmp_path / "asked"
    wheels.mkdir()
    (wheels / "table_controller-0.0.1-py3-none-any.whl").touch()
    stub.write_text(STUB.format(python=sys.executable), encoding="ascii")
    stub.chmod(0o755)
    done = install(
        tmp_path / "root", PYTHON=str(stub), WHEELHOUSE=str(wheels), PIP_LOG=str(asked), EXTRAS="journal"
    )
    assert done.returncode == 0, done.stderr
    (own,) = (line for line in asked.read_text(encoding="ascii").splitlines() if "table_controller" in line)
    assert own.endswith("/table_controller-9-py3-none-any.whl")


@pytest.mark.parametrize("umask", ["077", "002", "022"])
def test_whatever_roots_umask_the_modes_are_the_same(umask: str, tmp_path: Path) -> None:
    """A umask of 077 must not lock the service out, and 002 must leave nothing group-writable."""
    stub, root = tmp_path / "python", tmp_path / "root"
    stub.write_text(STUB.format(python=sys.executable), encoding="ascii")
    stub.chmod(0o755)
    (root / OPT).mkdir(parents=True)
    (root / OPT).chmod(0o700)  # as an earlier install left it
    environ = {"PYTHON": str(stub), "PIP_LOG": str(tmp_path / "asked"), "EXTRAS": "journal", "TABLE": "craps"}
    done = subprocess.run(
        ["sh", "-c", f'umask {umask} && exec "$0" install', SCRIPT],
        env={**os.environ, "DESTDIR": str(root), **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    placed = [path for path in root.rglob("*") if not path.is_symlink()]
    assert len(placed) > 50
    of_folders = {path.stat().st_mode & 0o777 for path in placed if path.is_dir() and ours(path, root)}
    assert of_folders == {0o755}
    assert {path.stat().st_mode & 0o777 for path in placed if path.is_file()} <= {0o644, 0o755}


@pytest.mark.parametrize("found", ["setgid and writable", "closed", "files of a checkout that is closed"])
def test_existing_files_become_readable_and_not_writable_for_others(found: str, tmp_path: Path) -> None:
    """The folders are from an earlier install or made by hand, and only the owner can read the checkout."""
    stub, root = tmp_path / "python", tmp_path / "root"
    stub.write_text(STUB.format(python=sys.executable), encoding="ascii")
    stub.chmod(0o755)
    script = SCRIPT
    if found == "files of a checkout that is closed":
        checkout = tmp_path / "checkout"
        parts = ("systemd", "config", "docs", "controller/__init__.py", "drivers/__init__.py")
        files = ("CHANGELOG.md", "pyproject.toml", "requirements.lock", "requirements-table.lock")
        for part in (*parts, *files):
            (checkout / part).parent.mkdir(parents=True, exist_ok=True)
            if (HERE / part).is_dir():
                shutil.copytree(HERE / part, checkout / part)
            else:
                shutil.copy(HERE / part, checkout / part)
        for path in checkout.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
        script = checkout / "systemd/install.sh"
        script.chmod(0o700)
    else:
        for folder in (OPT, f"{OPT}/releases", "etc/table", "etc/table/samples"):
            (root / folder).mkdir(parents=True, exist_ok=True)
            (root / folder).chmod(0o2775 if found == "setgid and writable" else 0o700)
        (root / "etc/table/samples/craps.yaml").touch(0o666)
    environ = {"PYTHON": str(stub), "PIP_LOG": str(tmp_path / "asked"), "EXTRAS": "journal", "TABLE": "craps"}
    done = subprocess.run(
        [script, "install"],
        env={**os.environ, "DESTDIR": str(root), **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    laid = [path for path in root.rglob("*") if not path.is_symlink()]
    assert [path for path in laid if path.is_file() and path.stat().st_mode & 0o022] == []
    assert [path for path in laid if path.stat().st_mode & 0o044 != 0o044] == []
    folders = [path for path in laid if path.is_dir() and ours(path, root)]
    assert [path for path in folders if path.stat().st_mode & 0o777 != 0o755] == []


ACL_ENTRY = struct.Struct("<HHI")


def default_acl(user: int) -> bytes:
    """Return an ACL, as the kernel stores it, that allows this user to write to new files of a folder."""
    nobody = 0xFFFFFFFF
    entries = ((1, 7, nobody), (2, 7, user), (4, 7, nobody), (16, 7, nobody), (32, 7, nobody))
    return struct.pack("<I", 2) + b"".join(ACL_ENTRY.pack(*entry) for entry in entries)


def stub_install(root: Path, what: str = "install") -> subprocess.CompletedProcess[str]:
    """Install with a Python stub that does not install any package."""
    stub = root.parent / "python"
    stub.write_text(STUB.format(python=sys.executable), encoding="ascii")
    stub.chmod(0o755)
    given = {
        "PYTHON": str(stub),
        "PIP_LOG": str(root.parent / "asked"),
        "EXTRAS": "journal",
        "TABLE": "craps",
    }
    return install(root, what, **given)


SYNC = """#!/bin/sh
# Stands for sync: notes what is to go to the disk, and what of the release is there under its name by then.
cd "$ROOT/opt/table-controller"
whole=$(ls releases/*/complete 2>/dev/null | wc -l)
echo "${{2:-$1}} whole=$whole current=$(readlink current)" >>"$SYNCED"
exec {sync} "$@"
"""


def test_nothing_gets_its_final_name_before_it_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut soon after an upgrade must not leave a release of empty files under its name."""
    root, synced = tmp_path / "root", tmp_path / "synced"
    sync = tmp_path / "bin" / "sync"
    sync.parent.mkdir()
    sync.write_text(SYNC.format(sync=shutil.which("sync")), encoding="ascii")
    sync.chmod(0o755)
    monkeypatch.setenv("PATH", f"{sync.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("ROOT", str(root))
    monkeypatch.setenv("SYNCED", str(synced))

    done = stub_install(root)

    assert done.returncode == 0, done.stderr
    release = os.readlink(root / OPT / "current")
    order = [line.removeprefix(str(root)).lstrip("/") for line in synced.read_text().splitlines()]
    assert order[0] == f"{OPT}/{release} whole=0 current=", "its files, before it is marked complete"
    assert order[-2] == f"{OPT} whole=1 current=", (
        "what was compiled and installed since, before it is switched to"
    )
    assert order[-1] == f"{OPT} whole=1 current={release}", "the switch, before anything runs"
    laid = {path for path in (root / "etc").rglob("*") if path.is_file()}
    assert {root / line.partition(" ")[0].removesuffix(".new") for line in order[1:-2]} >= laid
    assert not list((root / "etc").rglob("*.new"))


def test_no_default_acl_makes_installed_files_writable(tmp_path: Path) -> None:
    """A default ACL overrides the umask, and its user could write to files created in the folder."""
    root = tmp_path / "root"
    for folder in (OPT, "etc/table", "etc/systemd/system"):
        (root / folder).mkdir(parents=True)
        try:
            os.setxattr(root / folder, "system.posix_acl_default", default_acl(65534))
        except OSError as error:
            pytest.skip(f"this file system has no ACLs: {error.strerror}")
    assert stub_install(root).returncode == 0
    laid = [path for path in root.rglob("*") if not path.is_symlink() and path.name != "system"]
    assert any(os.listxattr(path) for path in laid), "no file has an ACL, so nothing was tested"
    assert [path for path in laid if path.is_file() and path.stat().st_mode & 0o022] == []
    assert [path for path in laid if path.is_dir() and ours(path, root) and path.stat().st_mode & 0o022] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
@pytest.mark.parametrize("found", ["folders", "a whole release", "a file of a whole release"])
def test_no_part_of_an_installation_stays_owned_by_another_user(found: str, tmp_path: Path) -> None:
    """The owner of the releases' folder could replace the running release."""
    root = tmp_path / "root"
    if found == "folders":
        for folder in (OPT, f"{OPT}/releases", "etc/table", "etc/table/samples"):
            (root / folder).mkdir(parents=True, exist_ok=True)
            os.chown(root / folder, 1234, 1234)
    else:
        assert stub_install(root).returncode == 0
        release = (root / OPT / "current").resolve()
        evil = release / "bin/evil"
        evil.write_text("mine", encoding="ascii")
        for path in (release, *release.rglob("*")) if found == "a whole release" else (evil,):
            os.chown(path, 1234, 1234, follow_symlinks=False)
    done = stub_install(root)
    assert done.returncode == 0, done.stderr
    assert [path for path in root.rglob("*") if path.lstat().st_uid] == []
    assert not list(root.rglob("evil"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
def test_no_rollback_to_a_release_owned_by_another_user(machine: Path) -> None:
    os.chown(machine / OPT / "releases/1-old/systemd/table.service", 1234, 1234)
    done = install(machine, "rollback")
    assert (done.returncode, "found files owned by another user" in done.stderr) == (2, True)
    assert os.readlink(machine / OPT / "current") == "releases/2-new"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
@pytest.mark.parametrize("folder", [OPT, f"{OPT}/releases", "etc/table"])
def test_no_link_of_another_user_is_taken_for_a_folder_of_the_table(folder: str, tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / folder).parent.mkdir(parents=True)
    (root / folder).symlink_to(elsewhere)
    os.chown(root / folder, 1234, 1234, follow_symlinks=False)
    done = stub_install(root)
    assert (done.returncode, f"found a symbolic link {root / folder}" in done.stderr) == (2, True)
    assert list(elsewhere.iterdir()) == []


def ours(folder: Path, root: Path) -> bool:
    """Return whether a folder belongs to the table and not to every machine."""
    return any(part in ("table-controller", "table") for part in folder.relative_to(root).parts)


SEALING = """
set -euo pipefail
say() { echo "install: $*" >&2; }
refuse() { say "$*"; exit 2; }
root=$1
home=$1/opt
export INSTALLER=$$
%s
make_key
"""


def make_key(root: Path, creds: str) -> subprocess.CompletedProcess[str]:
    """Run the script's `make_key` with this replacement for systemd-creds."""
    text = SCRIPT.read_text(encoding="utf-8")
    begin = text.index("make_key() {")
    function = text[begin : text.index("\n}\n", begin) + 3]
    (root / "bin").mkdir(exist_ok=True)
    (root / "bin/systemd-creds").write_text(f"#!/bin/sh\n{creds}\n", encoding="ascii")
    (root / "bin/systemd-creds").chmod(0o755)
    (root / "etc/table/credentials").mkdir(parents=True, exist_ok=True)
    (root / "opt/current/bin").mkdir(parents=True, exist_ok=True)
    python = root / "opt/current/bin/python"
    python.unlink(missing_ok=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="ascii")
    python.chmod(0o755)
    environ = {**os.environ, "PATH": f"{root / 'bin'}:{os.environ['PATH']}", "TMPDIR": str(root)}
    words = ["bash", "-c", SEALING % function, "install.sh", str(root)]
    return subprocess.run(words, env=environ, capture_output=True, text=True, check=False, cwd=root)


def keys_in(folder: Path) -> list[Path]:
    """Return each file that holds an unencrypted private key."""
    marks = b"PRIVATE KEY"
    return [path for path in folder.rglob("*") if path.is_file() and marks in path.read_bytes()]


@pytest.mark.parametrize(
    "creds",
    [
        "exit 1",
        "cat >/dev/null; exit 1",
        'cat >"$4"; exit 1',
        "kill -9 $$",
        "cat >/dev/null",
        'cat >/dev/null; : >"$4"',
        '[ "$1" = encrypt ] && cat >"$4" || cat "$3"',
        '[ "$1" = encrypt ] && head -c 20 | tr A-Za-z N-ZA-Mn-za-m >"$4" || tr A-Za-z N-ZA-Mn-za-m <"$3"',
        '[ "$1" = encrypt ] && tr A-Za-z N-ZA-Mn-za-m >"$4"',
    ],
    ids=[
        "at once",
        "after reading",
        "after writing",
        "killed",
        "no file",
        "empty",
        "clear",
        "cut",
        "for ever",
    ],
)
def test_a_key_that_cannot_be_sealed_is_kept_nowhere(creds: str, tmp_path: Path) -> None:
    done = make_key(tmp_path, creds)
    assert done.returncode == 2
    assert "no key was kept" in done.stderr
    assert keys_in(tmp_path) == []
    assert list((tmp_path / "etc/table/credentials").iterdir()) == []


def test_leftovers_of_an_interrupted_sealing_are_removed_first(tmp_path: Path) -> None:
    """Power failed, or the install was killed, after a file was written and before it was checked."""
    (tmp_path / "etc/table/credentials").mkdir(parents=True)
    (tmp_path / "etc/table/credentials/table-key.new").write_text(
        "PRIVATE KEY in the clear", encoding="ascii"
    )
    done = make_key(tmp_path, "kill -9 $INSTALLER; kill -9 $$")
    assert done.returncode != 0
    assert keys_in(tmp_path) == []
    assert list((tmp_path / "etc/table/credentials").iterdir()) == []


@pytest.mark.parametrize("word", ["TERM", "HUP", "INT"])
def test_an_install_stopped_while_sealing_leaves_no_key(word: str, tmp_path: Path) -> None:
    creds = f'cat >"$4"; kill -{word} $INSTALLER; exit 0'
    done = make_key(tmp_path, creds)
    assert done.returncode != 0
    assert keys_in(tmp_path) == []
    assert list((tmp_path / "etc/table/credentials").iterdir()) == []


def test_a_key_is_sealed_once(tmp_path: Path) -> None:
    seal = """case "$1 $2" in
"encrypt --name=table-key") tr A-Za-z N-ZA-Mn-za-m >"$4" ;;
"decrypt --name=table-key") tr A-Za-z N-ZA-Mn-za-m <"$3" ;;
*) exit 1 ;;
esac"""
    sealed = tmp_path / "etc/table/credentials/table-key"
    done = make_key(tmp_path, seal)
    assert done.returncode == 0, done.stderr
    assert "CEVINGR XRL" in sealed.read_text(encoding="ascii"), "the stub's own seal"
    assert sealed.stat().st_mode & 0o077 == 0
    before = sealed.read_bytes()
    assert make_key(tmp_path, "exit 1").returncode == 0
    assert sealed.read_bytes() == before
    assert keys_in(tmp_path) == []


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_finds_nothing_in_the_script() -> None:
    done = subprocess.run(["shellcheck", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("text", "extras"),
    [
        ("table: craps\n", ("journal", "hardware", "web", "settlement")),
        ("publish:\n  to: socket\n", ("journal", "hardware", "web")),
        ("publish:\n  to: embedded\n", ("journal", "hardware", "web", "settlement")),
        ("publish:\n  to: mqtt\n  mqtt:\n    host: broker\n", ("journal", "hardware", "web", "mqtt")),
    ],
)
def test_a_table_gets_the_extras_that_its_file_needs(
    text: str, extras: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "table.yaml"
    file.write_text(text, encoding="utf-8")
    assert closure.extras_of(file) == extras


def test_exactly_the_needed_packages_are_chosen_from_the_lock() -> None:
    project = HERE / "pyproject.toml"
    chosen = list(closure.chosen(LOCK, closure.roots_of(project, ("journal",))))
    names = {entry.partition("==")[0] for entry in chosen}
    assert {"apsw", "cffi", "cryptography", "msgspec", "pydantic", "pydantic-core", "six"} <= names
    assert not {"paho-mqtt", "gpiod", "sqlalchemy", "uvicorn"} & names
    assert all("--hash=sha256:" in entry for entry in chosen)


def release_signed_in(checkout: Path, key: Path) -> None:
    (checkout / LIST_FILE).write_bytes(sign(place_of(checkout), key))


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("signed", ""),
        ("unsigned", "the release's signed list of files is missing"),
        ("changed", "changed: controller/cli/release.py"),
        ("strange", "expected one by"),
        ("no key where it was", "release.pub: No such file or directory"),
    ],
)
def test_with_a_trusted_release_key_no_unsigned_release_is_switched_to(
    way: str, expected: str, tmp_path: Path
) -> None:
    """The files that pip installed are compared with the checkout's list."""
    checkout, root, stub = tmp_path / "checkout", tmp_path / "root", tmp_path / "python"
    for name in ("controller", "drivers", "config", "systemd", "docs"):
        shutil.copytree(HERE / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "requirements-table.lock", "requirements.lock", "CHANGELOG.md"):
        shutil.copy(HERE / name, checkout / name)
    for name in ("release", "strange"):
        keys.make("release", tmp_path / f"{name}.key")
    if way != "unsigned":
        release_signed_in(checkout, tmp_path / ("strange.key" if way == "strange" else "release.key"))
    if way == "changed":
        with (checkout / "controller/cli/release.py").open("a", encoding="utf-8") as program:
            program.write("# mine\n")
    (root / "etc/table").mkdir(parents=True)
    if way == "no key where it was":
        (root / "etc/table/release.pub").symlink_to(tmp_path / "gone.pub")
    else:
        shutil.copy(tmp_path / "release.pub", root / "etc/table/release.pub")
    stub.write_text(LAYS_IN.format(python=sys.executable, checkout=checkout), encoding="ascii")
    stub.chmod(0o755)
    environ = {**os.environ, "DESTDIR": str(root), "PYTHON": str(stub), "EXTRAS": "journal"}
    done = subprocess.run(
        [checkout / "systemd/install.sh", "install"], env=environ, capture_output=True, text=True, check=False
    )
    assert expected in done.stderr, done.stderr
    assert (done.returncode, (root / OPT / "current").is_symlink()) == (
        (0, True) if not expected else (2, False)
    )


LAYS_IN = """#!/bin/sh
# Stands for Python and for each environment made with it: pip lays the checkout in, as its wheel would.
here=$(dirname "$(dirname "$0")")
case "$*" in
"-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && echo "#!$3/bin/python" >"$3/bin/tablectl" ;;
*" wheel "*) while [ "$1" != --wheel-dir ]; do shift; done; touch "$2/table_controller-9-py3-none-any.whl" ;;
*pip*table_controller-9*)
    to=$here/lib/python3.11/site-packages
    mkdir -p "$to" && cp -R {checkout}/controller {checkout}/drivers "$to"
    cp -R {checkout}/config "$to/controller/_config" ;;
*pip*) ;;
*) exec {python} "$@" ;;
esac
"""
