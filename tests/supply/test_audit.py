"""An audit names exactly the pinned releases that an operator's advisories affect."""

import json
import zipfile
from pathlib import Path

import pytest

from controller.supply.audit import AdvisoryFault, affects, main, read_advisories
from controller.supply.sbom import LockFault, canonical, read_lock

HERE = Path(__file__).parents[2]
LOCKS = ("requirements-table.lock", "requirements.lock", "requirements-dev.lock")
LOCK = """\
annotated-types==0.8.0 \\
    --hash=sha256:13b2beaad985e05e2d6407ee4c4f35590b11f8d693a258a561055cac8f64cab7
    # via pydantic, table-controller (pyproject.toml)
pydantic==2.13.0 \\
    --hash=sha256:23b2beaad985e05e2d6407ee4c4f35590b11f8d693a258a561055cac8f64cab7 \\
    --hash=sha256:33b2beaad985e05e2d6407ee4c4f35590b11f8d693a258a561055cac8f64cab7
    # via -c other.lock, fastapi, table-controller (pyproject.toml)
"""
Json = dict[str, object]


def advisory(
    name: str = "pydantic",
    *,
    events: list[dict[str, str]] | None = None,
    versions: list[str] | None = None,
    **more: object,
) -> Json:
    affected: Json = {"package": {"ecosystem": "PyPI", "name": name}}
    if events is not None:
        affected["ranges"] = [{"type": "ECOSYSTEM", "events": events}]
    if versions is not None:
        affected["versions"] = versions
    record: Json = {"id": "TEST-2026-1", "summary": "reads too far", "aliases": ["CVE-2026-1"]}
    return {**record, "modified": "2026-01-01T00:00:00Z", "affected": [affected], **more}


def kept(folder: Path, *record: Json) -> Path:
    file = folder / "export.json"
    file.write_text(json.dumps(record), encoding="utf-8")
    return file


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    file = tmp_path / "some.lock"
    file.write_text(LOCK, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("events", "is_affected"),
    [
        ([{"introduced": "0"}, {"fixed": "2.13.1"}], True),
        ([{"introduced": "0"}, {"fixed": "2.13.0"}], False),
        ([{"introduced": "0"}, {"fixed": "2.9"}], False),
        ([{"introduced": "2.13.0"}], True),
        ([{"introduced": "2.13.1"}], False),
        ([{"introduced": "0"}, {"last_affected": "2.13.0"}], True),
        ([{"introduced": "0"}, {"last_affected": "2.12.9"}], False),
        ([{"introduced": "0"}, {"fixed": "1.0"}, {"introduced": "2.10"}, {"fixed": "3.0"}], True),
        ([{"introduced": "2.10"}, {"fixed": "3.0"}, {"introduced": "0"}, {"fixed": "1.0"}], True),
        ([{"introduced": "0"}, {"fixed": "2.13.0rc1"}], False),
        ([{"introduced": "0"}], True),
    ],
)
def test_a_release_is_inside_or_outside_a_range(
    events: list[dict[str, str]], is_affected: bool, tmp_path: Path
) -> None:
    (record,) = read_advisories(kept(tmp_path, advisory(events=events)))
    assert affects(record, "pydantic", "2.13.0") is is_affected
    assert affects(record, "annotated-types", "2.13.0") is False


def test_an_affected_release_is_named_with_its_lock(
    tmp_path: Path, lock: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = kept(tmp_path, advisory(versions=["2.13.0"]), advisory("no-such", versions=["1"]))
    assert main([str(export), str(lock)]) == 1
    said = capsys.readouterr()
    assert said.out == f"{lock}: pydantic 2.13.0: TEST-2026-1, CVE-2026-1: reads too far\n"
    assert "2 advisories, 1 findings" in said.err


@pytest.mark.parametrize(
    "expected",
    [
        advisory(versions=["2.12.0"]),
        advisory("pydantic-core", versions=["2.13.0"]),
        advisory(versions=["2.13.0"], withdrawn="2026-02-01T00:00:00Z"),
        {**advisory(versions=[]), "affected": [{"package": {"ecosystem": "npm", "name": "pydantic"}}]},
    ],
)
def test_an_unaffected_release_is_not_named(
    expected: Json, tmp_path: Path, lock: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = kept(tmp_path, expected, advisory("other", versions=["1"]))
    assert main([str(export), str(lock)]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("expected", [advisory(), advisory(events=[{"introduced": "not a version!"}])])
def test_missing_data_in_an_advisory_does_not_count_as_unaffected(
    expected: Json, tmp_path: Path, lock: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(kept(tmp_path, expected)), str(lock)]) == 1
    assert "might be affected" in capsys.readouterr().out


def test_all_spellings_of_a_package_name_match(tmp_path: Path) -> None:
    (record,) = read_advisories(kept(tmp_path, advisory("Annotated_Types", versions=["0.8.0"])))
    assert affects(record, canonical("annotated.types"), "0.8.0") is True


@pytest.mark.parametrize("form", ["object", "lines", "vulns", "zip", "folder"])
def test_an_export_may_have_any_supported_form(form: str, tmp_path: Path, lock: Path) -> None:
    one = json.dumps(advisory(versions=["2.13.0"]))
    path = tmp_path / "export"
    match form:
        case "object":
            path.write_text(one, encoding="utf-8")
        case "lines":
            path.write_text(f"{one}\n{one}\n", encoding="utf-8")
        case "vulns":
            path.write_text(f'{{"vulns":[{one}]}}', encoding="utf-8")
        case "zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("PYSEC-1.json", one)
        case _:
            path.mkdir()
            (path / "PYSEC-1.json").write_text(one, encoding="utf-8")
    assert main([str(path), str(lock)]) == 1


@pytest.mark.parametrize(
    "text",
    ["", "[]", "no json", "[1]", "{}", '{"id":"A","affected":[{"package":{"ecosystem":"npm","name":"x"}}]}'],
)
def test_an_export_without_advisories_is_not_a_clean_result(text: str, tmp_path: Path, lock: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AdvisoryFault, match=r"export\.json: (found .* expected|no advisory for PyPI)"):
        read_advisories(path)
    assert main([str(path), str(lock)]) == 2


def test_a_missing_export_and_a_missing_lock_are_reported(
    tmp_path: Path, lock: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(lock)]) == 2
    assert main([str(tmp_path / "none"), str(lock)]) == 2
    assert (
        f"audit: {tmp_path / 'none'}: No such file or directory; name the export" in capsys.readouterr().err
    )
    export = kept(tmp_path, advisory(versions=["1"]))
    missing = tmp_path / "no.lock"
    assert main([str(export), str(missing)]) == 2
    assert capsys.readouterr().err == (
        f"audit: {missing}: No such file or directory; write the lock files with `make lock`\n"
    )
    lock.write_text("# nothing\n", encoding="utf-8")
    assert main([str(export), str(lock)]) == 2
    lock.write_text("pydantic>=2\n", encoding="utf-8")
    with pytest.raises(LockFault, match="expected NAME==VERSION"):
        read_lock(lock)


@pytest.mark.parametrize("name", LOCKS)
def test_our_own_locks_are_read_completely(name: str) -> None:
    file = HERE / name
    pinned = read_lock(file)
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line[:1].isalnum()]
    assert len(pinned) == len(lines)
    assert all(one.digests and one.via for one in pinned)


def test_an_export_with_null_for_empty_values_is_read(
    tmp_path: Path, lock: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = {"summary": None, "details": None, "aliases": None, "withdrawn": None}
    hit = {**advisory(versions=["2.13.0"]), **empty}
    about_nobody = {**advisory(), **empty, "affected": None}
    unclear: Json = {**advisory(), **empty}
    unclear["affected"] = [
        {"package": {"ecosystem": "PyPI", "name": "pydantic"}, "ranges": None, "versions": None}
    ]
    assert main([str(kept(tmp_path, hit, about_nobody, unclear)), str(lock)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].endswith("pydantic 2.13.0: TEST-2026-1: no summary")
    assert len(printed) == 2
    assert "might be affected" in printed[1]
