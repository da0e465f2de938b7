"""Python runs compiled copies without checking the source, so the controller must find planted copies."""

import importlib.util
import marshal
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from controller.app import keys
from controller.app.faults import ActiveFaults
from controller.app.release import (
    LIST_FILE,
    NOWHERE,
    ReleaseCheck,
    ReleaseFault,
    check,
    place_of,
    planted_copies,
    sign,
    trusted_keys,
    verify,
)
from tests.app.rig import until

SOURCE = "def pays(stake):\n    '''Pay even money.'''\n    return stake * 1\n"
EVIL = SOURCE.replace("* 1", "* 9")
Flags = py_compile.PycInvalidationMode


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "controller" / "pays.py"
    file.parent.mkdir()
    (file.parent / "__init__.py").touch()
    (tmp_path / "drivers").mkdir()
    file.write_text(SOURCE, encoding="ascii")
    return file


def plant(source: Path, mode: Flags = Flags.TIMESTAMP, optimize: int = 0) -> Path:
    """Compile different code under a header that matches the source."""
    found, honest = source.stat(), source.read_bytes()
    source.write_text(EVIL, encoding="ascii")
    copy = py_compile.compile(str(source), optimize=optimize, invalidation_mode=mode, doraise=True)
    source.write_bytes(honest)
    os.utime(source, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert copy is not None
    path = Path(copy)
    if mode is Flags.CHECKED_HASH:
        data = path.read_bytes()
        path.write_bytes(data[:8] + importlib.util.source_hash(honest) + data[16:])
    elif mode is Flags.TIMESTAMP:
        data, written = path.read_bytes(), int(found.st_mtime).to_bytes(4, "little")
        path.write_bytes(data[:8] + written + found.st_size.to_bytes(4, "little") + data[16:])
    return path


def what_runs(source: Path) -> str:
    """Return the value that importing the module produces: 9 for a planted copy."""
    words = (sys.executable, "-c", "import controller.pays; print(controller.pays.pays(1))")
    done = subprocess.run(words, cwd=source.parents[1], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("mode", list(Flags))
def test_a_planted_copy_runs_and_is_found(mode: Flags, source: Path) -> None:
    copy = plant(source, mode)
    assert what_runs(source) == "9", "no planted copy ran, so nothing was tested"
    assert list(planted_copies(source)) == [copy]


@pytest.mark.parametrize("optimize", [0, 1, 2])
@pytest.mark.parametrize("mode", list(Flags))
def test_a_copy_that_python_compiled_from_the_source_is_not_a_fault(
    mode: Flags, optimize: int, source: Path
) -> None:
    py_compile.compile(str(source), optimize=optimize, invalidation_mode=mode, doraise=True)
    assert list(planted_copies(source)) == []


def test_compiled_copies_of_this_program_match_its_sources() -> None:
    """The copies are those of a real interpreter."""
    place = place_of()
    names = [path for _, path in place.files() if path.suffix == ".py"][::12]
    assert [copy for path in names for copy in planted_copies(path)] == []


@pytest.mark.parametrize("optimize", [1, 2])
def test_a_copy_for_an_optimized_run_is_found_too(optimize: int, source: Path) -> None:
    copy = plant(source, optimize=optimize)
    assert list(planted_copies(source)) == [copy]


@pytest.mark.parametrize("part", ["co_filename", "co_stacksize", "co_exceptiontable", "co_consts"])
def test_a_change_to_any_part_of_a_copy_but_the_path_it_was_compiled_at_is_found(
    part: str, source: Path
) -> None:
    copy = Path(py_compile.compile(str(source), doraise=True) or "")
    data = copy.read_bytes()
    code = marshal.loads(data[16:])
    (inner, *_) = [one for one in code.co_consts if hasattr(one, "co_code")]
    other = {
        "co_filename": "/elsewhere.py",
        "co_stacksize": inner.co_stacksize + 1,
        "co_exceptiontable": b"\x80\x01\x01\x01",
        "co_consts": tuple(True if one == 1 else one for one in inner.co_consts),
    }[part]
    changed = inner.replace(**{part: other})
    consts = tuple(changed if one is inner else one for one in code.co_consts)
    copy.write_bytes(data[:16] + marshal.dumps(code.replace(co_consts=consts)))
    assert list(planted_copies(source)) == ([] if part == "co_filename" else [copy])


@pytest.mark.parametrize("found", ["cut", "no code", "a link", "a folder of links"])
def test_a_file_that_is_not_a_compiled_copy_is_found(found: str, source: Path, tmp_path: Path) -> None:
    copy = Path(py_compile.compile(str(source), doraise=True) or "")
    data = copy.read_bytes()
    if found == "cut":
        copy.write_bytes(data[:-20])
    elif found == "no code":
        copy.write_bytes(data[:16] + marshal.dumps(7))
    elif found == "a link":
        copy.unlink()
        (tmp_path / "elsewhere").write_bytes(data)
        copy.symlink_to(tmp_path / "elsewhere")
    else:
        copy.parent.rename(tmp_path / "elsewhere")
        copy.parent.symlink_to(tmp_path / "elsewhere")
    assert list(planted_copies(source)) == [copy.parent if found == "a folder of links" else copy]


def test_a_copy_that_python_would_not_run_is_ignored(source: Path) -> None:
    copy = plant(source)
    os.utime(source, (1, 1))
    assert list(planted_copies(source)) == []
    assert what_runs(source) == "1"
    copy.write_bytes(b"\0" * 40)
    assert list(planted_copies(source)) == []


@pytest.fixture
def signed(source: Path, tmp_path: Path) -> Path:
    """Return the public key of a signed program."""
    keys.make("release", tmp_path / "release.key")
    folder = source.parents[1]
    (folder / LIST_FILE).write_bytes(sign(place_of(folder), tmp_path / "release.key"))
    return tmp_path / "release.pub"


def test_a_release_with_a_planted_copy_fails_its_verification(source: Path, signed: Path) -> None:
    place, trusted = place_of(source.parents[1]), trusted_keys(signed)
    py_compile.compile(str(source), doraise=True)
    verify(place, trusted)
    plant(source)
    with pytest.raises(ReleaseFault, match=r"not compiled from their sources: controller/__pycache__/pays\."):
        verify(place, trusted)
    verify(place, trusted, compiled=False)


@pytest.mark.live
def test_the_controllers_check_runs_no_compiled_copy_and_its_finding_locks_the_table(signed: Path) -> None:
    """The check must report that this checkout is not a signed release, and must not run compiled copies."""
    words = (
        sys.executable,
        "-B",
        "-X",
        f"pycache_prefix={NOWHERE}",
        "-c",
        "import sys; import controller.app.release",
    )
    done = subprocess.run(
        (*words[:-1], f"{words[-1]}; print(sys.modules['controller.app.release'].__cached__)"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"{NOWHERE}/")
    faults = ActiveFaults()
    one = ReleaseCheck(signed, faults)
    one.start()
    until(lambda: bool(faults.locking), "the check to end")
    assert [fault.code for fault in faults.present] == ["release_unverified"]
    assert faults.locking[0].found == check(signed).differs
    one.stop(1.0)
